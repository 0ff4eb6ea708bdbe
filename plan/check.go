package plan

import (
	"errors"
	"fmt"
	"slices"
)

// Check says what is wrong with a plan for one of the targets, or nil: everything that a device can know before it
// plays. Devices check their kernels' source themselves.
func (p *Plan) Check(targets ...string) error {
	if p == nil {
		return errors.New("no plan")
	}
	if p.Version != Version {
		return fmt.Errorf("it has version %d and this program plays version %d: compile it again with this version of Weft", p.Version, Version)
	}
	known := false
	for _, t := range targets {
		known = known || p.Target == t
	}
	if !known {
		return fmt.Errorf("its kernels were written for %q, not for %v", p.Target, targets)
	}
	for _, v := range p.Vars {
		if v.Lo > v.Hi {
			return fmt.Errorf("variable %s has the empty range %d…%d", v.Name, v.Lo, v.Hi)
		}
	}
	for _, k := range p.Kernels {
		if k.Threads < 1 || k.Scratch < 0 {
			return fmt.Errorf("kernel %s: %d iterations and %d bytes of scratch make no sense", k.Name, k.Threads, k.Scratch)
		}
	}
	if err := p.checkMemory(); err != nil {
		return err
	}
	for i, s := range p.Steps {
		if err := p.checkStep(s); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

// fewArgs is how many arguments any plan may have, with memories or without.
const fewArgs = 1 << 15

func (p *Plan) checkMemory() error {
	most := max(len(p.Memory), fewArgs) // Args says how much is made for a play: a plan of a few bytes must not have that be much
	for i, m := range p.Memory {
		if m.Kind > State || m.Bytes < 0 || m.Kind != Arena && (m.Arg < 0 || m.Arg >= most) {
			return fmt.Errorf("memory %d (kind %d, argument %d, %d bytes) makes no sense", i, m.Kind, m.Arg, m.Bytes)
		}
	}
	for i, c := range p.Constants {
		if !slices.ContainsFunc(p.Memory, func(m Memory) bool { return m.Kind == Input && m.Arg == c.Arg && m.Bytes == int64(len(c.Data)) }) {
			return fmt.Errorf("constant %d of %d bytes is no input (argument %d) of that size", i, len(c.Data), c.Arg)
		}
	}
	for i, s := range p.Slots {
		if s.Memory < 0 || s.Memory >= len(p.Memory) {
			return fmt.Errorf("slot %d lies in memory %d of %d", i, s.Memory, len(p.Memory))
		}
		if m := p.Memory[s.Memory]; s.Offset < 0 || s.Bytes < 0 || s.Offset > m.Bytes || s.Bytes > m.Bytes-s.Offset {
			return fmt.Errorf("slot %d (%d bytes at %d) does not lie within memory %d of %d bytes", i, s.Bytes, s.Offset, s.Memory, m.Bytes)
		}
	}
	return nil
}

func (p *Plan) checkStep(s Step) error {
	for _, slot := range s.Slots {
		if slot < 0 || slot >= len(p.Slots) {
			return fmt.Errorf("slot %d of %d", slot, len(p.Slots))
		}
	}
	readOnly := func(slot int) bool { return p.Memory[p.Slots[slot].Memory].Kind == Input }
	switch s.Kind {
	case Launch:
		if s.Kernel < 0 || s.Kernel >= len(p.Kernels) {
			return fmt.Errorf("kernel %d of %d", s.Kernel, len(p.Kernels))
		}
		k := &p.Kernels[s.Kernel]
		if len(s.Slots) != len(k.Binds) {
			return fmt.Errorf("kernel %s takes %d buffers and gets %d", k.Name, len(k.Binds), len(s.Slots))
		}
		for i, b := range k.Binds {
			if n := p.Slots[s.Slots[i]].Bytes; n < b.Bytes {
				return fmt.Errorf("kernel %s: buffer %d needs %d bytes and slot %d has %d", k.Name, i, b.Bytes, s.Slots[i], n)
			}
			if b.Write && readOnly(s.Slots[i]) {
				return fmt.Errorf("kernel %s: buffer %d is written, but slot %d lies in an input", k.Name, i, s.Slots[i])
			}
		}
	case Copy:
		if len(s.Slots) != 2 {
			return fmt.Errorf("a copy has 2 slots, not %d", len(s.Slots))
		}
		to, from := p.Slots[s.Slots[0]].Bytes, p.Slots[s.Slots[1]].Bytes
		if to != from {
			return fmt.Errorf("copy of %d bytes to a slot of %d", from, to)
		}
		if readOnly(s.Slots[0]) {
			return fmt.Errorf("copy into slot %d, which lies in an input", s.Slots[0])
		}
	default:
		return fmt.Errorf("unknown kind %d: compile the plan again with this version of Weft", s.Kind)
	}
	return nil
}

// Args is how many buffers a play takes.
func (p *Plan) Args() (n int) {
	for _, m := range p.Memory {
		if m.Kind != Arena {
			n = max(n, m.Arg+1)
		}
	}
	return n
}

// CheckVars says what is wrong with the variables of a play, or nil.
func (p *Plan) CheckVars(vars []int32) error {
	if len(vars) != len(p.Vars) {
		return fmt.Errorf("the plan takes %d variables and gets %d", len(p.Vars), len(vars))
	}
	for i, v := range p.Vars {
		if vars[i] < v.Lo || vars[i] > v.Hi {
			return fmt.Errorf("variable %s is %d, not within %d…%d", v.Name, vars[i], v.Lo, v.Hi)
		}
	}
	return nil
}
