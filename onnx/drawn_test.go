package onnx

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
)

// drawing draws a graph whose values decide of how many elements others are, which branch is taken and how often a loop goes round. All its arrays are rows of
// floats; no number in it is large.
type drawing struct {
	r     *rand.Rand
	names int
	inits []message
}

func (d *drawing) name() string {
	d.names++
	return fmt.Sprint("v", d.names)
}

func (d *drawing) ints(list ...int64) string {
	name := d.name()
	d.inits = append(d.inits, intsMsg(name, list...))
	return name
}

func (d *drawing) float(f float32) string {
	name := d.name()
	d.inits = append(d.inits, tensorMsg(name, Float32, floatsValue(nil, f).raw))
	return name
}

// nodes draws some, which read rows that there are, and gives the rows that there are then.
func (d *drawing) nodes(n, depth int, rows []string) (nodes []message, all []string) {
	node := func(op string, in []string, attrs ...message) string {
		out := d.name()
		nodes = append(nodes, nodeMsg(op, in, list(out), attrs...))
		return out
	}
	any := func() string { return rows[d.r.IntN(len(rows))] }
	tame := func(x string) string { return node("Tanh", list(x)) }
	scalar := func(x string) string { // of a row, one number between 0 and 4, also of none
		s := node("ReduceSum", list(node("Abs", list(x))), intAttr("keepdims", 0))
		return node("Clip", list(s, d.float(0), d.float(4)))
	}
	whole := func(s string) string { return node("Cast", list(s), intAttr("to", int64(Int64))) }
	flat := func(x string) string { return node("Reshape", list(x, d.ints(-1))) }
	for range n {
		x, y := any(), any()
		var made string
		switch k := d.r.IntN(11); k {
		case 0:
			made = tame(node("Mul", list(x, d.float(float32(d.r.IntN(5)-2)/2))))
		case 1: // a number of another row to each
			made = tame(node("Add", list(x, scalar(y))))
		case 2: // what is greater than zero
			made = node("Compress", list(x, node("Greater", list(x, d.float(0)))), intAttr("axis", 0))
		case 3: // places
			at := node("NonZero", list(node("Greater", list(x, d.float(0)))))
			made = flat(node("Gather", list(x, at)))
		case 4:
			made = node("Concat", list(x, y), intAttr("axis", 0))
		case 5: // as many first ones as another row says
			made = node("Slice", list(x, d.ints(0), flat(whole(scalar(y))), d.ints(0)))
		case 6: // as many numbers as another row says
			steps := node("Range", list(d.int(0), whole(scalar(y)), d.int(1)))
			made = tame(node("Add", list(node("Cast", list(steps), intAttr("to", int64(Float32))), scalar(x))))
		case 7, 8:
			if depth == 0 {
				continue
			}
			c := node("Less", list(scalar(y), d.float(2)))
			branch := func() message {
				inner, rows := d.nodes(1+d.r.IntN(3), depth-1, rows)
				out := d.name()
				inner = append(inner, nodeMsg("Identity", list(rows[len(rows)-1]), list(out)))
				return graphMsg(inner, nil, nil, msgs(portMsg(out, Float32, -1)))
			}
			made = node("If", list(c), graphAttr("then_branch", branch()), graphAttr("else_branch", branch()))
		case 9:
			if depth == 0 {
				continue
			}
			i, on, v := d.name(), d.name(), d.name()
			inner, rows := d.nodes(1+d.r.IntN(3), depth-1, append([]string{v}, rows...))
			next, more := d.name(), d.name()
			inner = append(inner, nodeMsg("Slice", list(rows[len(rows)-1], d.ints(0), d.ints(6), d.ints(0)), list(next)))
			all := d.name()
			inner = append(inner, nodeMsg("ReduceSum", list(next), list(all), intAttr("keepdims", 0)), nodeMsg("Less", list(all, d.float(1)), list(more)))
			body := graphMsg(inner, nil, msgs(portMsg(i, Int64), portMsg(on, Bool), portMsg(v, Float32, -1)), msgs(portMsg(more, Bool), portMsg(next, Float32, -1)))
			made = node("Loop", list(d.int(int64(1+d.r.IntN(4))), "", x), graphAttr("body", body))
		case 10:
			made = node("CumSum", list(tame(x), d.int(0)))
		}
		rows = append(rows, node("Slice", list(made, d.ints(0), d.ints(9), d.ints(0))))
	}
	return nodes, rows
}

func (d *drawing) int(n int64) string {
	name := d.name()
	d.inits = append(d.inits, tensorMsg(name, Int64, little([]int64{n}, 8)))
	return name
}

// Random graphs are the same in pieces and node by node, whatever values decide.
func TestPiecesOfRandomGraphs(t *testing.T) {
	ctx := context.Background()
	from, seeds := 1, 40
	if s := os.Getenv("WEFT_SEED"); s != "" {
		var err error
		from, err = strconv.Atoi(s)
		require.NoError(t, err)
		seeds = 400
	}
	pieces := 0
	for seed := from; seed < from+seeds; seed++ {
		d := &drawing{r: rand.New(rand.NewPCG(uint64(seed), 0))}
		nodes, rows := d.nodes(4+d.r.IntN(8), 2, list("x", "y"))
		var outs []message
		for _, name := range rows[max(2, len(rows)-3):] {
			outs = append(outs, portMsg(name, Float32, -1))
		}
		m := read(t, modelMsg(graphMsg(nodes, d.inits, msgs(portMsg("x", Float32, -1), portMsg("y", Float32, -1)), outs)))
		for round := range 5 {
			row := func() *Value {
				x := make([]float32, 1+d.r.IntN(3)*d.r.IntN(3))
				for i := range x {
					x[i] = float32(d.r.IntN(9)-4) / 4
				}
				return Of(on(tensor.Of(x)))
			}
			args := []*Value{row(), row()}
			got, err := m.CallInOrder(ctx, args)
			require.NoError(t, err, "seed %d, round %d", seed, round)
			r := m.runner(ctx, args[0].t.Engine())
			r.noDoubles = true // graphs inside do not go in pieces either
			want, err := r.byNode(m.whole(), args)
			require.NoError(t, err, "seed %d, round %d", seed, round)
			for i := range want {
				require.Equal(t, want[i].shape, got[i].shape, "seed %d, round %d", seed, round)
				a, err := want[i].Bytes(ctx)
				require.NoError(t, err)
				b, err := got[i].Bytes(ctx)
				require.NoError(t, err)
				x, y := numbersOf(Float32, a), numbersOf(Float32, b)
				for k := range x {
					require.LessOrEqual(t, math.Abs(x[k]-y[k]), 1e-5, "seed %d, round %d, output %d: %v %v", seed, round, i, x, y)
				}
			}
		}
		pieces += len(m.pieces)
	}
	require.Greater(t, pieces, 3*seeds)
}
