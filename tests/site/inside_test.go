package site

import (
	"context"
	"fmt"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/backends/look"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/tests/browser"
	"github.com/weft-ml/weft/viz"
)

// stepped is what the page says of a step.
type stepped struct {
	Law, At, Count, Before, After string
}

const stepScript = `const text = (id) => document.getElementById(id).textContent
	return { Law: document.querySelector('#law strong')?.textContent ?? '', At: document.querySelector('#law code')?.textContent ?? '', Count: text('step-count'), Before: text('before'), After: text('after') }`

// walkSteps goes through all steps of what is shown with the arrow key: each begins where the one before ended.
func walkSteps(t *testing.T, p *browser.Page) (last stepped, n int) {
	require.NoError(t, p.Eventually(`/^1 of/.test(document.getElementById('step-count').textContent)`, slow), text(t, p, "law"))
	_, err := fmt.Sscanf(text(t, p, "step-count"), "1 of %d", &n)
	require.NoError(t, err)
	require.NoError(t, p.Run(`document.getElementById('stepper').focus()`, nil))
	for i := range n {
		var s stepped
		require.NoError(t, p.Run(stepScript, &s))
		assert.Equal(t, fmt.Sprintf("%d of %d", i+1, n), s.Count)
		assert.NotEmpty(t, s.Law)
		assert.Regexp(t, `^(schedule|symbolic|codegen)(/\w+)+\.go(:\d+)?$`, s.At, s.Law)
		if i > 0 {
			require.Equal(t, last.After, s.Before, "step %d begins where the one before ended", i+1)
		}
		last = s
		require.NoError(t, p.Run(`document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true, cancelable: true }))`, nil))
	}
	return last, n
}

func TestSteps(t *testing.T) {
	p := open(t, "inside/#"+url.PathEscape("attention(q[2, 4, 64, 32], k[2, 4, 64, 32], v[2, 4, 64, 32])"))
	require.NoError(t, p.Eventually(`document.querySelectorAll('#kernels .launch').length === 3`, slow), text(t, p, "status"))
	var chains []string
	require.NoError(t, p.Run(`return [...document.getElementById('chain').options].map((o) => o.value)`, &chains))
	require.Len(t, chains, 1+2*3)
	longer, err := p.Tasks()
	require.NoError(t, err)
	for _, id := range chains[1:] {
		require.NoError(t, p.Run(fmt.Sprintf(`const e = document.getElementById('chain'); document.getElementById('step-count').textContent = ''; e.value = %q; e.dispatchEvent(new Event('change'))`, id), nil))
		last, n := walkSteps(t, p)
		t.Logf("%s: %d steps, the last %s", id, n, last.Law)
	}
	calm(t, longer)
	require.NoError(t, p.Run(`document.getElementById('stepper').dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft', bubbles: true, cancelable: true }))`, nil))
	var s stepped
	require.NoError(t, p.Run(stepScript, &s))
	assert.NotRegexp(t, `^(\d+) of $1$`, s.Count, "a step back")
	more(t, p, "steps", "steps-title")
}

// WebAssembly as text, chains folded and not, larger and smaller, and a run with its timeline.
func TestViews(t *testing.T) {
	p := open(t, "inside/#"+url.PathEscape("sum(exp(sqrt(x[64, 64] @ w[64, 64]) * 2) + 1, 1)"))
	require.NoError(t, p.Eventually(`document.querySelectorAll('#kernels .launch').length > 0`, slow), text(t, p, "status"))
	var got struct {
		Folded, Unfolded int
		Width, Larger    float64
		End              bool
	}
	require.NoError(t, p.Run(`
		const nodes = () => document.querySelectorAll('#graph g').length
		const width = () => Number(document.querySelector('#graph svg').getAttribute('width'))
		const frame = document.getElementById('graph')
		await new Promise((f) => requestAnimationFrame(() => requestAnimationFrame(f)))
		const end = Math.abs(frame.scrollHeight - frame.clientHeight - frame.scrollTop) < 3
		const folded = nodes(), before = width()
		document.getElementById('chains').click()
		const unfolded = nodes()
		document.getElementById('larger').click()
		const larger = width()
		;[...document.querySelectorAll('#languages button')].find((b) => b.textContent === 'WebAssembly').click()
		return { Folded: folded, Unfolded: unfolded, Width: before, Larger: larger, End: end }`, &got))
	assert.Less(t, got.Folded, got.Unfolded, "nodes when chains are folded")
	assert.Greater(t, got.Larger, got.Width)
	assert.True(t, got.End, "it starts at the output")
	const function = `[...document.querySelectorAll('.side pre')].some((e) => e.textContent.includes('(func') && e.textContent.includes('local.get'))`
	require.NoError(t, p.Eventually(function, slow)) // sources are coloured piece by piece
	require.NoError(t, p.Click("#run"))
	require.NoError(t, p.Eventually(`document.querySelectorAll('#timeline tbody tr').length > 0`, slow), text(t, p, "run-text"))
	assert.Regexp(t, `kernels? on .* in kernels, .* between`, text(t, p, "run-text"))
	var bars int
	require.NoError(t, p.Run(`return document.querySelectorAll('#timeline .kernel-bar').length`, &bars))
	assert.Positive(t, bars)
	more(t, p, "run", "run-title")
	more(t, p, "graph", "graph-title")
}

// The same page, served by a program for its own plans, without an engine.
func TestServedPlans(t *testing.T) {
	host(t) // Chromium
	e, err := look.Open("c")
	require.NoError(t, err)
	x := func(shape ...int) *tensor.Tensor {
		u, err := e.Empty(dtype.F32, shape)
		require.NoError(t, err)
		return tensor.FromNode(u, e)
	}
	r := viz.NewRecorder()
	w := x(16, 4)
	loss := x(8, 16).MatMul(w).LogSoftmax(-1).Mean()
	_, err = e.Plan(loss.Node(), w.Sub(loss.Grad(w)[0].Mul(0.1)).Node())
	r.Stop()
	require.NoError(t, err)
	l, err := viz.Listen(0)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go viz.Serve(ctx, l, r)
	p, err := shared.browser.Open("http://" + l.Addr().String() + "/")
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, p.Eventually(`document.querySelectorAll('#kernels .launch').length > 0`, slow), text(t, p, "status"))
	last, n := walkSteps(t, p)
	assert.Greater(t, n, 3)
	chain, err := r.Chain(0, "kernel 0")
	require.NoError(t, err)
	assert.Equal(t, chain.Last(), last.After+"", "the last step is the kernel's Spec")
	var sides []string
	require.NoError(t, p.Run(`return [...document.querySelectorAll('.side > pre')].map((e) => e.textContent)`, &sides))
	assert.Contains(t, fmt.Sprint(sides), "char *const *buf")
	assert.Empty(t, p.Problems())
	shots(t, p, "served")
}
