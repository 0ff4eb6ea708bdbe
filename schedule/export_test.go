package schedule

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// Damage makes a phase wrong: f spoils what it leaves, and then check sees it.
func Damage(check Check, phase Phase, f func(d Damaged)) Check {
	return func(g *Graph) func(s Stage) error {
		see := check(g)
		return func(s Stage) error {
			if s.Phase == phase {
				f(Damaged{s.s})
			}
			return see(s)
		}
	}
}

// Damaged is a schedule to spoil.
type Damaged struct{ s *scheduler }

// Values changes the roots' graphs.
func (d Damaged) Values(f func(u *uop.UOp) *uop.UOp) {
	for i, v := range d.s.values {
		d.s.values[i] = d.graph(v, f)
	}
}

// Kernels changes the nodes of what kernels compute.
func (d Damaged) Kernels(f func(u *uop.UOp) *uop.UOp) {
	for _, k := range d.s.kernels {
		for i := range k.spec.Outs {
			k.spec.Outs[i].Value = d.graph(k.spec.Outs[i].Value, f)
		}
	}
}

func (d Damaged) graph(root *uop.UOp, f func(u *uop.UOp) *uop.UOp) *uop.UOp {
	done := map[*uop.UOp]*uop.UOp{}
	for _, u := range uop.Topo(root) {
		done[u] = f(u.WithSrc(d.s.t, func(x *uop.UOp) *uop.UOp { return done[x] }))
	}
	return done[root]
}

// Forget leaves the last kernel out.
func (d Damaged) Forget() { d.s.kernels = d.s.kernels[:len(d.s.kernels)-1] }

// Reverse turns the order of the kernels.
func (d Damaged) Reverse() { slices.Reverse(d.s.kernels) }

// InPlace lets every assignment write where it is read.
func (d Damaged) InPlace() {
	for _, f := range sorted(d.s.fresh) {
		d.s.replace(f.key, f.value)
	}
	d.s.copies = nil
}

// Transpose gives the first two parameters with two dims the dims of the other order, and nothing else.
func (d Damaged) Transpose() {
	for _, k := range d.s.kernels {
		for i, p := range k.spec.Params {
			if len(p.Dims) == 2 && !p.Write {
				slices.Reverse(k.spec.Params[i].Dims)
			}
		}
	}
}

// ChunkShare is how many chunks what is just large makes.
const ChunkShare = chunkShare
