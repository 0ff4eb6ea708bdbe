package plan

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/bounded"
)

// numbers takes small and strange numbers from bytes.
type numbers []byte

func (n *numbers) next() int {
	if len(*n) == 0 {
		return 0
	}
	b := (*n)[0]
	*n = (*n)[1:]
	switch {
	case b < 128:
		return int(b % 16)
	case b < 160:
		return -int(b % 4)
	}
	return []int{1 << 31, 1<<63 - 1, -1 << 63, 256, 1 << 62, 1<<31 - 1, 4096, 1 << 40}[b%8]
}

func (n *numbers) list(f func()) {
	for range max(0, min(n.next(), 15)) {
		f()
	}
}

func (n *numbers) plan() *Plan {
	p := &Plan{Version: n.next(), Target: "c"}
	n.list(func() { p.Vars = append(p.Vars, Var{"v", int32(n.next()), int32(n.next())}) })
	n.list(func() {
		k := Kernel{Name: "k", Threads: int32(n.next()), Scratch: int64(n.next())}
		n.list(func() { k.Binds = append(k.Binds, Bind{Write: n.next() > 0, Bytes: int64(n.next())}) })
		p.Kernels = append(p.Kernels, k)
	})
	n.list(func() { p.Memory = append(p.Memory, Memory{MemoryKind(n.next()), n.next(), int64(n.next())}) })
	n.list(func() {
		p.Slots = append(p.Slots, Slot{Memory: n.next(), Offset: int64(n.next()), Bytes: int64(n.next())})
	})
	n.list(func() {
		s := Step{Kind: StepKind(n.next()), Kernel: n.next()}
		n.list(func() { s.Slots = append(s.Slots, n.next()) })
		p.Steps = append(p.Steps, s)
	})
	return p
}

// Whatever a plan says: no panic, and one that passes touches nothing outside of its memories.
func FuzzCheck(f *testing.F) {
	f.Add([]byte{1, 0, 1, 1, 0, 2, 1, 4, 0, 4, 2, 2, 0, 4, 1, 1, 4, 2, 0, 0, 4, 1, 0, 4, 1, 0, 0, 2, 0, 1})
	f.Add([]byte{1, 0, 0, 1, 0, 0, 161, 1, 0, 161, 161, 1, 1, 0, 2, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		n := numbers(b)
		p := n.plan()
		var err error
		bounded.Memory(t, len(b), 1024, func() { err = p.Check("c") })
		if err != nil {
			return
		}
		for _, s := range p.Slots {
			m := p.Memory[s.Memory]
			require.True(t, s.Offset >= 0 && s.Bytes >= 0 && uint64(s.Offset)+uint64(s.Bytes) <= uint64(m.Bytes), "%+v in %+v", s, m)
		}
		for _, s := range p.Steps {
			for i, slot := range s.Slots {
				if s.Kind == Launch {
					require.GreaterOrEqual(t, p.Slots[slot].Bytes, p.Kernels[s.Kernel].Binds[i].Bytes)
				}
			}
		}
		require.GreaterOrEqual(t, p.Args(), 0)
	})
}
