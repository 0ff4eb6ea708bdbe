package engine

import "github.com/weft-ml/weft/uop"

// deviceMap says of the nodes of a graph which device computes them, and how many times their values changed devices before.
type deviceMap struct {
	order   []*uop.UOp // operands first
	devices uop.Map[string]
	levels  uop.Map[int]
}

func mapOf(roots []*uop.UOp) *deviceMap {
	m := &deviceMap{}
	type frame struct {
		u *uop.UOp
		i int
	}
	var seen uop.Map[bool]
	for _, root := range roots {
		stack := []frame{{root, 0}}
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			u := f.u
			srcs := operandsOf(u)
			if done, _ := seen.Get(u); done || f.i == len(srcs) {
				if !done {
					seen.Set(u, true)
					m.add(u, srcs)
				}
				stack = stack[:len(stack)-1]
				continue
			}
			f.i++
			stack = append(stack, frame{srcs[f.i-1], 0})
		}
	}
	return m
}

// operandsOf are the nodes that u is computed from now.
func operandsOf(u *uop.UOp) []*uop.UOp {
	switch {
	case u.Realized() != nil:
		return nil
	case u.Op() == uop.Detach: // the rest is for differentiation
		return u.Src()[:1]
	}
	return u.Src()
}

func (m *deviceMap) add(u *uop.UOp, srcs []*uop.UOp) {
	device, level := "", 0
	if b, _ := buffer(u); b != nil {
		device = b.Arg().(uop.BufferArg).Device
	} else if r := u.Realized(); r != nil {
		b, _ := buffer(r)
		device = b.Arg().(uop.BufferArg).Device
	}
	for _, s := range srcs {
		if d := m.device(s); device == "" {
			device = d
		}
		level = max(level, m.level(s))
	}
	if a, ok := u.Arg().(uop.DeviceArg); ok && u.Realized() == nil {
		device = a.Device
	}
	m.order = append(m.order, u)
	m.devices.Set(u, device)
	if m.levels.Set(u, level); m.crosses(u) {
		m.levels.Set(u, level+1)
	}
}

// crosses says that u brings a value from another device.
func (m *deviceMap) crosses(u *uop.UOp) bool {
	if u.Op() != uop.Copy || u.Realized() != nil {
		return false
	}
	from := m.device(u.At(0))
	return from != "" && from != m.device(u)
}

func (m *deviceMap) device(u *uop.UOp) string { d, _ := m.devices.Get(u); return d }
func (m *deviceMap) level(u *uop.UOp) int     { n, _ := m.levels.Get(u); return n }
