package webgpu

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
)

// maxGroups is how many bind groups a plan keeps.
const maxGroups = 8192

// Play queues the steps: one submission, but parts of a launch that is cut end theirs. The arena comes from the device's
// memory and goes back at the end, for work that is queued later.
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
	return d.failed("play", d.submit(commands))
}

// submit queues commands; a part is the last of its submission, for a driver looks at how long each takes.
func (d *Device) submit(commands []Command) error {
	at := 0
	for i := range commands {
		if commands[i].part || i == len(commands)-1 {
			if err := d.gpu.Submit(commands[at : i+1]); err != nil {
				return err
			}
			at = i + 1
		}
	}
	return nil
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

// uniformAlign is what every adapter lets the offset of a uniform block be a multiple of.
const uniformAlign = 256

// blockBytes is the size of one uniform block, and how far apart two are.
func (l *loaded) blockBytes() (size, apart int) {
	size = 4 * l.plan.FirstWord()
	if len(l.firsts) > 1 {
		size += 16
	}
	return size, (size + uniformAlign - 1) &^ (uniformAlign - 1)
}

// block brings the uniform blocks up to date: bits that shader compilers must not know (infinity, NaN, 0 and −0 as
// floats), the variables, and the number of the first workgroup.
func (l *loaded) block(vars []int32) error {
	if l.written && slices.Equal(vars, l.vars) {
		return nil
	}
	size, apart := l.blockBytes()
	data := make([]byte, apart*(len(l.firsts)-1)+size)
	if l.uniform == nil {
		u, err := l.dev.gpu.Buffer(int64(len(data)), Uniform)
		if err != nil {
			return err
		}
		l.uniform = u
	}
	for i, first := range l.firsts {
		words := data[i*apart:]
		binary.LittleEndian.PutUint32(words, 0x7f800000)
		binary.LittleEndian.PutUint32(words[4:], 0x7fc00000)
		binary.LittleEndian.PutUint32(words[12:], 0x80000000)
		for k, v := range vars {
			binary.LittleEndian.PutUint32(words[16+4*k:], uint32(v))
		}
		if first > 0 {
			binary.LittleEndian.PutUint32(words[4*l.plan.FirstWord():], first)
		}
	}
	l.vars, l.written = append(l.vars[:0], vars...), true
	return l.dev.gpu.Write(l.uniform, 0, data)
}

// command is what step i does: nothing, a dispatch or several, or a copy (two, where WebGPU cannot copy within a buffer).
func (l *loaded) command(i int) ([]Command, error) {
	s := &l.plan.Steps[i]
	if s.Kind == plan.Copy {
		return l.copies(s)
	}
	k := &l.plan.Kernels[s.Kernel]
	if k.Grid[0] == 0 {
		return nil, nil
	}
	if k.Parts == nil {
		c, err := l.dispatch(i, plan.Part{Grid: k.Grid})
		return []Command{c}, err
	}
	out := make([]Command, len(k.Parts))
	for n, part := range k.Parts {
		c, err := l.dispatch(i, part)
		if err != nil {
			return nil, err
		}
		c.part = true
		out[n] = c
	}
	return out, nil
}

func (l *loaded) dispatch(i int, part plan.Part) (Command, error) {
	s := &l.plan.Steps[i]
	g, err := l.group(i, s, part.First)
	if err != nil {
		return Command{}, fmt.Errorf("kernel %s: %w", l.plan.Kernels[s.Kernel].Name, err)
	}
	return Command{Pipeline: l.pipelines[s.Kernel].pipeline, Group: g, Grid: part.Grid}, nil
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

// group gives the bind group of a step for the buffers of this play, and for workgroups from first on.
func (l *loaded) group(i int, s *plan.Step, first uint32) (Group, error) {
	l.key = binary.LittleEndian.AppendUint32(l.key[:0], uint32(i))
	l.key = binary.LittleEndian.AppendUint32(l.key, first)
	for _, slot := range s.Slots {
		if at := &l.plan.Slots[slot]; at.Bytes > 0 {
			l.key = binary.LittleEndian.AppendUint64(l.key, l.mems[at.Memory].block.id)
		}
	}
	if g, ok := l.groups[string(l.key)]; ok {
		return g, nil
	}
	size, apart := l.blockBytes()
	entries := []Entry{{l.uniform, int64(apart * slices.Index(l.firsts, first)), int64(size)}}
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
