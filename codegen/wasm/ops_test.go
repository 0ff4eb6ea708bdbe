package wasm_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/weft-ml/weft/codegen/wasm"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

const elements = 64

// trial is a kernel of one op, its inputs, and what the op table says.
type trial struct {
	name  string
	probe *probe
	data  [][]byte
	want  []uop.Value
	loose bool
}

// trials has every op on every type.
func trials() (out []trial) {
	r := rand.New(rand.NewPCG(1, 2))
	add := func(name string, o uop.Op, from, to dtype.DType, loose bool, build func(p *probe) *uop.UOp, ins ...dtype.DType) {
		t := trial{name: name, probe: newProbe(elements, to, ins...), want: make([]uop.Value, elements), loose: loose}
		t.probe.out(build(t.probe))
		lists := make([][]uop.Value, len(ins))
		for i, d := range ins {
			lists[i] = samples(d, elements, r)
			t.data = append(t.data, pack(d, lists[i]))
		}
		for i := range t.want {
			var v []uop.Value
			for _, l := range lists {
				v = append(v, l[i])
			}
			t.want[i] = uop.Eval(o, from, to, v...)
		}
		out = append(out, t)
	}
	for _, d := range dtype.All {
		for _, o := range unaryOps {
			if fits(o, d) {
				add(fmt.Sprint(o, " ", d), o, d, d, o != uop.Neg && o != uop.Trunc && o != uop.RoundEven, func(p *probe) *uop.UOp { return p.t.Make(o, d, nil, p.in(0)) }, d)
			}
		}
		for _, o := range binaryOps {
			if !fits(o, d) {
				continue
			}
			to := d
			if o == uop.Less || o == uop.Equal {
				to = dtype.Bool
			}
			add(fmt.Sprint(o, " ", d), o, d, to, false, func(p *probe) *uop.UOp { return p.t.Make(o, to, nil, p.in(0), p.in(1)) }, d, d)
		}
		add(fmt.Sprint("where ", d), uop.Where, d, d, false, func(p *probe) *uop.UOp { return p.in(0).Where(p.in(1), p.in(2)) }, dtype.Bool, d, d)
		if d.IsFloat() {
			add(fmt.Sprint("smaller ", d), uop.Max, d, d, false, func(p *probe) *uop.UOp { return p.in(0).Less(p.in(1)).Where(p.in(0), p.in(1)) }, d, d)
			out[len(out)-1].choose(d, 0, 1)
			add(fmt.Sprint("greater ", d), uop.Max, d, d, false, func(p *probe) *uop.UOp { return p.in(0).Less(p.in(1)).Where(p.in(1), p.in(0)) }, d, d)
			out[len(out)-1].choose(d, 1, 0)
		}
		if d.Size() != 2 || !d.IsFloat() { // 16-bit floats round twice
			add(fmt.Sprint("muladd ", d), uop.MulAdd, d, d, false, func(p *probe) *uop.UOp { return p.in(0).MulAdd(p.in(1), p.in(2)) }, d, d, d)
		}
		for _, to := range dtype.All {
			if to != d {
				add(fmt.Sprint("cast ", d, " ", to), uop.Cast, d, to, false, func(p *probe) *uop.UOp { return p.in(0).Cast(to) }, d)
			}
			if to != d && to.Size() == d.Size() && to != dtype.Bool && d != dtype.Bool {
				add(fmt.Sprint("bitcast ", d, " ", to), uop.Bitcast, d, to, false, func(p *probe) *uop.UOp { return p.in(0).Bitcast(to) }, d)
			}
		}
	}
	return out
}

// choose wants operand yes where the first operand is less than the second, and operand no elsewhere.
func (x *trial) choose(d dtype.DType, yes, no int) {
	in := [2][]uop.Value{unpack(d, x.data[0]), unpack(d, x.data[1])}
	for i := range x.want {
		x.want[i] = in[no][i]
		if uop.Eval(uop.Less, d, dtype.Bool, in[0][i], in[1][i]) != 0 {
			x.want[i] = in[yes][i]
		}
	}
}

// check compares results with the op table.
func (x *trial) check(t *testing.T, directives string, out []byte) {
	d := x.probe.spec.Params[0].DType
	for j, got := range unpack(d, out) {
		if same(d, got, x.want[j], x.loose) {
			continue
		}
		var in []any
		for k, q := range x.probe.spec.Params[1:] {
			in = append(in, x.probe.t.ConstOf(q.DType, unpack(q.DType, x.data[k])[j]))
		}
		t.Errorf("directives %q: %s of %v: got %v, want %v", directives, x.name, in, x.probe.t.ConstOf(d, got), x.probe.t.ConstOf(d, x.want[j]))
		return
	}
}

// plain has no lanes, the other the widest.
var opDirectives = []string{"", "split a0 4; vector a0.1"}

// TestOps tries every op on every type, one element at a time and with lanes, against the op table.
func TestOps(t *testing.T) {
	list := trials()
	for _, m := range []wasm.Machine{{Wazero: true}, {}} {
		for _, directives := range opDirectives {
			for i, out := range run(t, m, directives, list) {
				list[i].check(t, directives, out)
			}
		}
	}
}
