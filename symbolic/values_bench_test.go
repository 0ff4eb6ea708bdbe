package symbolic_test

import (
	"testing"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/symbolic"
	"github.com/weft-ml/weft/uop"
)

// BenchmarkValues is a long chain of integer and float ops that no rule changes.
func BenchmarkValues(b *testing.B) {
	const n = 1000
	for _, d := range []dtype.DType{dtype.U32, dtype.F32} {
		b.Run(d.Short(), func(b *testing.B) {
			nodes := 0
			for b.Loop() {
				b.StopTimer()
				a := newArena()
				x := a.Make(uop.Reg, d, uop.RegArg{ID: 1})
				y := a.Make(uop.Reg, d, uop.RegArg{ID: 2})
				for i := range n {
					switch {
					case d == dtype.F32:
						x, y = x.Mul(y).Add(x.Float(float64(i)+0.5)), x.Max(y)
					default:
						x, y = x.Add(y).Xor(y.Shl(a.Table.Int(d, i%31+1))), x
					}
				}
				e := x.Add(y)
				nodes = len(uop.Topo(e))
				b.StartTimer()
				symbolic.Simplify(a.Table, e)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(nodes), "ns/node")
		})
	}
}
