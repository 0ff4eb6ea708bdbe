package browser_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/browser"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/tests/webkit"
)

// shared is one Chromium and one build of the engine for all tests.
var shared struct {
	sync.Once
	browser *browser.Browser
	folder  string
	err     error
}

func TestMain(m *testing.M) {
	start := time.Now()
	code := m.Run()
	fmt.Printf("tests in the browser: %.0f s\n", time.Since(start).Seconds())
	if shared.browser != nil {
		shared.browser.Close()
	}
	if shared.folder != "" {
		os.RemoveAll(shared.folder)
	}
	os.Exit(code)
}

// open opens the test page.
func open(t *testing.T) *browser.Page { return openFrom(t, browser.Serve) }

// openFrom opens the test page, served by one of the servers.
func openFrom(t *testing.T, serve func(folders ...string) *httptest.Server) *browser.Page {
	sharing(t)
	need.Device(t, "CHROMIUM", shared.err)
	return openIn(t, shared.browser, serve)
}

// building builds the engine into the shared folder, if that has not been done.
func building(t *testing.T) error {
	once.Do(func() {
		if shared.folder, once.err = os.MkdirTemp("", "weft-site-"); once.err == nil {
			once.err = browser.Build(need.Root(t), shared.folder)
		}
	})
	return once.err
}

var once struct {
	sync.Once
	err error
}

// sharing starts the browser and builds the engine, if that has not been done.
func sharing(t *testing.T) {
	shared.Do(func() {
		if shared.browser, shared.err = browser.Start(context.Background()); shared.err != nil {
			return
		}
		if shared.err = building(t); shared.err == nil { // what a page of the site adds to the engine's scripts
			var text []byte
			if text, shared.err = os.ReadFile(filepath.Join(need.Root(t), "site/train/digits.js")); shared.err == nil {
				shared.err = os.WriteFile(filepath.Join(shared.folder, "digits.js"), text, 0o666)
			}
		}
	})
}

// openIn opens the test page in a browser.
func openIn(t *testing.T, b *browser.Browser, serve func(folders ...string) *httptest.Server) *browser.Page {
	p, err := b.Open(testPage(t, serve))
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.Empty(t, p.Problems())
		p.Close()
	})
	require.NoError(t, p.Eventually("globalThis.weft", time.Minute))
	return p
}

// openInWebKit opens it in WebKit, isolated.
func openInWebKit(t *testing.T, o webkit.Options) *webkit.Page {
	b, err := webkit.Start(context.Background(), o)
	need.Device(t, "WEBKIT", err)
	t.Cleanup(func() { b.Close() })
	sharing(t)
	need.Device(t, "WEBKIT", shared.err)
	p, err := b.Open(testPage(t, browser.ServeIsolated))
	require.NoError(t, err)
	t.Cleanup(func() { p.Close() })
	require.NoError(t, p.Eventually("globalThis.weft", time.Minute))
	return p
}

// testPage serves the test page until the test ends, and gives its address.
func testPage(t *testing.T, serve func(folders ...string) *httptest.Server) string {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	server := serve("testdata/pages", shared.folder, // and scripts by themselves
		"../../wasm/js", "../../runtime/webgpu/page", "../../runtime/wasm/page", filepath.Join(strings.TrimSpace(string(goroot)), "lib/wasm"))
	t.Cleanup(server.Close)
	return server.URL + "/index.html"
}

func TestWebAssemblyTensors(t *testing.T) {
	p := open(t)
	var got struct {
		Device, Note string
		List         [][]float64
	}
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'wasm'})
		const x = w.tensor([[1, 2], [3, 4]])
		const list = await x.matmul(x).add(1).relu().list()
		w.close()
		return {device: w.device, note: w.note, list}`, &got))
	assert.Equal(t, "WASM", got.Device)
	assert.Equal(t, [][]float64{{8, 11}, {16, 23}}, got.List)
}

// A network is trained from JavaScript alone: gradients, assignments, a captured function.
func TestTrainingInJavaScript(t *testing.T) {
	p := open(t)
	var got struct {
		Losses   []float64
		Launches int
	}
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'wasm'})
		await w.seed(1)
		const x = w.tensor([[0, 0], [0, 1], [1, 0], [1, 1]]), y = w.tensor([[0], [1], [1], [0]])
		const ps = [w.randn([2, 8]), w.zeros([8]), w.randn([8, 1]), w.zeros([1])].map((p) => p.own())
		const [w1, b1, w2, b2] = ps
		await w.realize(...ps)
		const step = w.capture((x, y) => {
			const loss = x.matmul(w1).add(b1).tanh().matmul(w2).add(b2).mse(y)
			const gs = loss.grad(ps)
			ps.forEach((p, i) => p.assign(p.sub(gs[i].mul(0.3))))
			return loss
		})
		const losses = []
		for (let i = 0; i < 60; i++) losses.push(await (await step.run(x, y)).item())
		w.close()
		return {losses, launches: step.launches}`, &got))
	require.Len(t, got.Losses, 60)
	assert.Less(t, got.Losses[59], got.Losses[0]/4, "%v", got.Losses)
	assert.Positive(t, got.Launches)
}

func TestErrorsHaveTheStackOfTheirCall(t *testing.T) {
	p := open(t)
	var got struct{ Message, Stack, Early, Where, Ragged, Option string }
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'wasm'})
		function culprit() { return w.zeros([2, 3]).and(1) }
		function atOnce() { return w.zeros([2, 3]).matmul(w.zeros([4, 5])) }
		const bad = culprit().add(1)
		const caught = async (f) => { try { await f() } catch (e) { return e } }
		const e = await caught(() => bad.data()), early = await caught(() => { atOnce() })
		const ragged = await caught(() => w.tensor([[1, 2], [3]]))
		const option = await caught(() => w.ones([2]).sum({axes: 0}).item())
		w.close()
		return {message: e.message, stack: e.stack, early: early.message, where: early.stack, ragged: ragged.message, option: option.message}`, &got))
	assert.Equal(t, "and: f32: needs integers or bools", got.Message)
	assert.Contains(t, got.Stack, "culprit")
	assert.Equal(t, "matmul: [2, 3] and [4, 5]: inner sizes 3 and 4 differ", got.Early)
	assert.Contains(t, got.Where, "atOnce")
	assert.Contains(t, got.Ragged, "ragged arrays")
	assert.Contains(t, got.Option, `no option "axes"`)
}

func TestUnknownDevice(t *testing.T) {
	p := open(t)
	err := p.Run(`await weft.open({device: 'abacus'})`, nil)
	assert.ErrorContains(t, err, "there is no device ABACUS in a page")
}

func TestWebGPUTensors(t *testing.T) {
	p := open(t)
	var got struct {
		Device, DeviceDetail string
		List                 [][]float64
		Big                  float64
		Launches             int
	}
	require.NoError(t, p.Run(`
		const w = await weft.open({device: 'webgpu'})
		const x = w.tensor([[1, 2], [3, 4]])
		const list = await x.matmul(x).add(1).relu().list()
		const big = await w.ones([1000, 1000]).matmul(w.ones([1000, 500])).mean().item()
		const {launches} = await w.stats()
		w.close()
		return {device: w.device, deviceDetail: w.deviceDetail, list, big, launches}`, &got))
	assert.Equal(t, "WEBGPU", got.Device)
	assert.Contains(t, got.DeviceDetail, "swiftshader")
	assert.Equal(t, [][]float64{{8, 11}, {16, 23}}, got.List)
	assert.Equal(t, 1000., got.Big)
	assert.Positive(t, got.Launches)
}
