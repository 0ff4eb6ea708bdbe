package schedule

import "slices"

// Align is the alignment of every array in an arena, in bytes: what WebGPU asks of binding offsets.
const Align = 256

// Place is where a temporary lies in the arena.
type Place struct{ Offset, Bytes int64 }

// Memory gives every temporary buffer a place in one arena: arrays whose lives overlap do not. Larger arrays choose
// first, each the lowest gap that fits. It returns the places by buffer (inputs and outputs have none) and
// the arena's size.
func (r *Result) Memory() (places map[int]Place, peak int64) {
	first, last := map[int]int{}, map[int]int{}
	for i, st := range r.Steps {
		for _, b := range st.Bufs {
			if r.Bufs[b].Kind != TempBuf {
				continue
			}
			if _, ok := first[b]; !ok {
				first[b] = i
			}
			last[b] = i
		}
	}
	var temps []int
	for b := range first {
		temps = append(temps, b)
	}
	slices.SortFunc(temps, func(a, b int) int {
		if d := r.Bufs[b].Bytes() - r.Bufs[a].Bytes(); d != 0 {
			if d > 0 {
				return 1
			}
			return -1
		}
		return a - b
	})
	places = map[int]Place{}
	var placed []int
	for _, b := range temps {
		size := (r.Bufs[b].Bytes() + Align - 1) / Align * Align
		var taken []Place
		for _, o := range placed {
			if first[o] <= last[b] && first[b] <= last[o] {
				taken = append(taken, places[o])
			}
		}
		slices.SortFunc(taken, func(x, y Place) int {
			if x.Offset < y.Offset {
				return -1
			}
			return 1
		})
		at := int64(0)
		for _, p := range taken {
			if at+size <= p.Offset {
				break
			}
			at = max(at, p.Offset+p.Bytes)
		}
		places[b] = Place{at, size}
		placed = append(placed, b)
		peak = max(peak, at+size)
	}
	return places, peak
}
