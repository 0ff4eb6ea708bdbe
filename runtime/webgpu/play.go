package webgpu

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
)

// maxGroups is how many bind groups a plan keeps.
const maxGroups = 8192

// Play queues the steps: one submission. The arena comes from the device's memory and goes back at the end, for
// work that is queued later.
func (d *Device) Play(of runtime.Loaded, args []runtime.Mem, vars []int32) error {
	l, err := d.door.Play(of)
	if err != nil {
		return err
	}
	defer l.done()
	if err := d.door.Bind(l.plan, args, vars, l.mems); err != nil {
		return err
	}
	for _, i := range l.arena {
		m, err := d.memory.alloc(l.plan.Memory[i].Bytes)
		if err != nil {
			return err
		}
		defer m.Free()
		l.mems[i] = m
	}
	if err := l.block(vars); err != nil {
		return d.failed("play", err)
	}
	if e := d.epoch(); e != l.epoch || len(l.groups) > maxGroups {
		l.drop()
		l.epoch = e
	}
	commands, ends := make([]Command, 0, len(l.plan.Steps)), make([]int, 0, len(l.plan.Steps))
	for i := range l.plan.Steps {
		c, err := l.command(i)
		if err != nil {
			return d.failed("play", err)
		}
		commands = append(commands, c...)
		ends = append(ends, len(commands))
	}
	if d.options.Trace != nil {
		return d.traced(l, commands, ends)
	}
	return d.failed("play", d.gpu.Submit(commands))
}

// done gives back what a play used: what is queued holds it.
func (l *loaded) done() {
	for _, m := range l.passed {
		m.Free()
	}
	l.passed = l.passed[:0]
	clear(l.mems)
}

func (d *Device) epoch() uint64 {
	d.memory.Lock()
	defer d.memory.Unlock()
	return d.memory.epoch
}

// block brings the uniform block up to date: bits that shader compilers must not know (infinity, NaN, 0 and −0 as
// floats), then the variables.
func (l *loaded) block(vars []int32) error {
	if l.written && slices.Equal(vars, l.vars) {
		return nil
	}
	size := 16 * (1 + (len(vars)+3)/4)
	if l.uniform == nil {
		u, err := l.dev.gpu.Buffer(int64(size), Uniform)
		if err != nil {
			return err
		}
		l.uniform = u
	}
	data := make([]byte, size)
	binary.LittleEndian.PutUint32(data, 0x7f800000)
	binary.LittleEndian.PutUint32(data[4:], 0x7fc00000)
	binary.LittleEndian.PutUint32(data[12:], 0x80000000)
	for i, v := range vars {
		binary.LittleEndian.PutUint32(data[16+4*i:], uint32(v))
	}
	l.vars, l.written = append(l.vars[:0], vars...), true
	return l.dev.gpu.Write(l.uniform, 0, data)
}

// command is what step i does: nothing, a dispatch, or a copy (two, where WebGPU cannot copy within a buffer).
func (l *loaded) command(i int) ([]Command, error) {
	s := &l.plan.Steps[i]
	if s.Kind == plan.Copy {
		return l.copies(s)
	}
	k := &l.plan.Kernels[s.Kernel]
	if k.Grid[0] == 0 {
		return nil, nil
	}
	g, err := l.group(i, s)
	if err != nil {
		return nil, fmt.Errorf("kernel %s: %w", k.Name, err)
	}
	return []Command{{Pipeline: l.pipelines[s.Kernel].pipeline, Group: g, Grid: k.Grid}}, nil
}

func (l *loaded) copies(s *plan.Step) ([]Command, error) {
	a, b := &l.plan.Slots[s.Slots[0]], &l.plan.Slots[s.Slots[1]]
	n := (a.Bytes + 3) &^ 3
	if n == 0 {
		return nil, nil
	}
	to, from := l.mems[a.Memory].buffer, l.mems[b.Memory].buffer
	if to != from {
		return []Command{{To: to, ToAt: a.Offset, From: from, FromAt: b.Offset, Bytes: n}}, nil
	}
	m, err := l.dev.memory.alloc(n)
	if err != nil {
		return nil, err
	}
	l.passed = append(l.passed, m)
	between := m.buffer
	return []Command{{To: between, From: from, FromAt: b.Offset, Bytes: n}, {To: to, ToAt: a.Offset, From: between, Bytes: n}}, nil
}

// group gives the bind group of a step for the buffers of this play.
func (l *loaded) group(i int, s *plan.Step) (Group, error) {
	l.key = binary.LittleEndian.AppendUint32(l.key[:0], uint32(i))
	for _, slot := range s.Slots {
		if at := &l.plan.Slots[slot]; at.Bytes > 0 {
			l.key = binary.LittleEndian.AppendUint64(l.key, l.mems[at.Memory].block.id)
		}
	}
	if g, ok := l.groups[string(l.key)]; ok {
		return g, nil
	}
	entries := []Entry{{l.uniform, 0, int64(16 * (1 + (len(l.vars)+3)/4))}}
	for _, slot := range s.Slots {
		at := &l.plan.Slots[slot]
		if at.Bytes == 0 {
			entries = append(entries, Entry{l.dev.nothing, 0, nothingBytes})
			continue
		}
		entries = append(entries, Entry{l.mems[at.Memory].buffer, at.Offset, (at.Bytes + 3) &^ 3})
	}
	g, err := l.dev.gpu.Group(l.pipelines[s.Kernel].pipeline, entries)
	if err != nil {
		return nil, err
	}
	l.groups[string(l.key)] = g
	return g, nil
}

// traced submits and waits for one step after the other; ends says where the commands of each end.
func (d *Device) traced(l *loaded, commands []Command, ends []int) error {
	at := 0
	for i, end := range ends {
		if err := d.gpu.Wait(context.Background()); err != nil {
			return d.failed("play", err)
		}
		start := time.Now()
		if err := d.gpu.Submit(commands[at:end]); err != nil {
			return d.failed("play", err)
		}
		if err := d.gpu.Wait(context.Background()); err != nil {
			return d.failed("play", err)
		}
		took := time.Since(start)
		at = end
		if s := l.plan.Steps[i]; s.Kind == plan.Copy {
			d.options.Trace("copy", took, nil)
		} else {
			k := &l.plan.Kernels[s.Kernel]
			d.options.Trace(k.Name, took, k)
		}
	}
	return nil
}
