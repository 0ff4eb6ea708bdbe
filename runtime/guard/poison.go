package guard

import (
	"fmt"
	"slices"

	"github.com/weft-ml/weft/plan"
)

// Poison is what tests have fresh memory filled with: a kernel that reads what nobody wrote gives nonsense, and one
// that writes where no slot is leaves a trace.
const Poison = 0xA7

// Fill writes poison all over b.
func Fill(b []byte) {
	if len(b) == 0 {
		return
	}
	b[0] = Poison
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}

// Filled reports whether b is nothing but poison.
func Filled(b []byte) bool {
	for _, x := range b {
		if x != Poison {
			return false
		}
	}
	return true
}

// Gaps is an error when poison is missing between or behind the slots within memory i of the plan.
func Gaps(p *plan.Plan, i int, data []byte) error {
	var of []plan.Slot
	for _, s := range p.Slots {
		if s.Memory == i {
			of = append(of, s)
		}
	}
	slices.SortStableFunc(of, func(a, b plan.Slot) int { return int(a.Offset - b.Offset) })
	at := int64(0)
	for _, slot := range of {
		if slot.Offset > at && !Filled(data[at:slot.Offset]) {
			return fmt.Errorf("a kernel wrote into the gap of the arena before offset %d", slot.Offset)
		}
		at = max(at, slot.Offset+slot.Bytes)
	}
	if !Filled(data[at:]) {
		return fmt.Errorf("a kernel wrote behind the last slot of the arena, which ends at %d", at)
	}
	return nil
}
