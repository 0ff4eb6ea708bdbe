package packed

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/plan"
)

// reader is what the players do.
type reader struct {
	t *testing.T
	b []byte
}

func (r *reader) word() int {
	require.GreaterOrEqual(r.t, len(r.b), 4)
	n := int(int32(binary.LittleEndian.Uint32(r.b)))
	r.b = r.b[4:]
	return n
}

func (r *reader) float() float64 {
	require.GreaterOrEqual(r.t, len(r.b), 8)
	f := math.Float64frombits(binary.LittleEndian.Uint64(r.b))
	r.b = r.b[8:]
	return f
}

// A plan of any numbers is read as it was written, to the last byte.
func FuzzSteps(f *testing.F) {
	f.Add(uint8(2), uint8(3), uint8(4), int64(1<<40), "a kernel")
	f.Add(uint8(0), uint8(0), uint8(0), int64(0), "")
	f.Fuzz(func(t *testing.T, memories, slots, steps uint8, bytes int64, text string) {
		bytes = int64(uint64(bytes) >> 11) // a float64 holds it
		p := &plan.Plan{}
		for i := range int(memories) {
			p.Memory = append(p.Memory, plan.Memory{Kind: plan.MemoryKind(i % 4), Arg: i, Bytes: bytes >> (i % 50)})
		}
		for i := range int(slots) {
			p.Slots = append(p.Slots, plan.Slot{Memory: i, Offset: bytes >> (i % 50), Bytes: bytes >> (i % 7)})
		}
		for i := range int(steps) {
			s := plan.Step{Kind: plan.StepKind(i % 2), Kernel: i}
			for k := range i % 5 {
				s.Slots = append(s.Slots, k)
			}
			p.Steps = append(p.Steps, s)
		}
		var w Writer
		w.Text(text)
		w.Steps(p)
		r := &reader{t, w.Bytes}
		n := r.word()
		require.Equal(t, text, string(r.b[:n]))
		r.b = r.b[n:]
		require.Equal(t, len(p.Memory), r.word())
		for _, m := range p.Memory {
			require.Equal(t, []int{int(m.Kind), m.Arg}, []int{r.word(), r.word()})
			require.Equal(t, float64(m.Bytes), r.float())
		}
		require.Equal(t, len(p.Slots), r.word())
		for _, s := range p.Slots {
			require.Equal(t, s.Memory, r.word())
			require.Equal(t, []float64{float64(s.Offset), float64(s.Bytes)}, []float64{r.float(), r.float()})
		}
		require.Equal(t, len(p.Steps), r.word())
		for _, s := range p.Steps {
			require.Equal(t, []int{int(s.Kind), s.Kernel, len(s.Slots)}, []int{r.word(), r.word(), r.word()})
			for _, slot := range s.Slots {
				require.Equal(t, slot, r.word())
			}
		}
		require.Empty(t, r.b)
	})
}
