package browser_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A search in a page leaves the results, is kept by the browser for the next visit, and can be shipped with a page.
func TestSearchInAPage(t *testing.T) {
	for _, device := range []string{"wasm", "webgpu"} {
		t.Run(device, func(t *testing.T) {
			p := open(t)
			var got struct {
				Sums             []float64
				Found            []int
				First, Next      string
				Shipped, Refused string
			}
			require.NoError(t, p.Run(`
				localStorage.removeItem('weft.directives')
				const got = {Sums: [], Found: []}
				const run = async (options) => {
					const w = await weft.open({device: '`+device+`', ...options})
					let found = 0
					w.onfound = ({kernel, modelMs, bestMs, complete}) => { if (kernel && bestMs > 0 && bestMs <= modelMs && complete) found++ }
					const x = w.arange(96 * 80).mul(0.01).sin().reshape([96, 80]).contiguous()
					await x.realize()
					got.Sums.push(await x.matmul(x.t()).sum().item())
					got.Found.push(found)
					const text = w.directives
					w.close()
					return text
				}
				await run({})
				got.First = await run({search: 1})
				got.Next = await run({search: 1})
				localStorage.removeItem('weft.directives')
				got.Shipped = await run({directives: got.First})
				got.Refused = await weft.open({device: '`+device+`', directives: 'nonsense'}).then(() => '', (e) => e.message)
				localStorage.removeItem('weft.directives')
				return got`, &got))
			for _, sum := range got.Sums {
				assert.InDelta(t, got.Sums[0], sum, 0.02)
			}
			assert.Zero(t, got.Found[0])
			assert.Positive(t, got.Found[1], "kernels were searched for")
			assert.Zero(t, got.Found[2], "and are known at the next visit")
			assert.Equal(t, got.First, got.Next)
			assert.Contains(t, got.First, "weft directives 1\n")
			assert.Zero(t, got.Found[3])
			assert.Contains(t, got.Refused, "Options.Directives: kept directives: the first line")
		})
	}
}
