package tensor

import (
	"math"
	"sync"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// circle is exp(−2πi·k/n) for k = 0 … n−1.
func circle(n int) (re, im []float64) {
	re, im = make([]float64, n), make([]float64, n)
	for k := range n {
		s, c := math.Sincos(-2 * math.Pi * float64(k) / float64(n))
		re[k], im[k] = c, s
	}
	return re, im
}

// twiddles are exp(−2πi·rc/n) for row r and column c, computed on the host.
func twiddles(like *Tensor, rows, columns, n int) pair {
	checkListed("FFT", uop.Shape{n}, uop.Times(rows, columns))
	d := floating(like.DType())
	t := tables.of(tableKey{d, rows, columns, n})
	return pair{like.beside(d, []int{rows, columns}, t[0]), like.beside(d, []int{rows, columns}, t[1])}
}

// tables are those of transforms made before, which programs make again. What they take is bounded.
var tables tableCache

type tableCache struct {
	mu    sync.Mutex
	known map[tableKey][2][]byte // real and imaginary parts
	bytes int
}

type tableKey struct {
	dtype            dtype.DType
	rows, columns, n int
}

// mostTables is how many bytes are kept.
const mostTables = 4 << 20

func (c *tableCache) of(k tableKey) [2][]byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, ok := c.known[k]
	if ok {
		return t
	}
	co, si := circle(k.n)
	for r := range k.rows {
		for i := range k.columns {
			at := r * i % k.n
			for part, x := range [2]float64{co[at], si[at]} {
				t[part] = appendBits(t[part], k.dtype, uop.ToBits(k.dtype, uop.FloatValue(k.dtype, x)))
			}
		}
	}
	size := 2 * len(t[0])
	if size > mostTables/2 {
		return t
	}
	if c.known == nil || c.bytes+size > mostTables {
		c.known, c.bytes = map[tableKey][2][]byte{}, 0
	}
	c.known[k] = t
	c.bytes += size
	return t
}
