package schedule

import "slices"

// Align is the alignment of every array in an arena, in bytes: what WebGPU asks of binding offsets.
const Align = 256

// Place is where a temporary lies, in which of the arenas.
type Place struct {
	Offset, Bytes int64
	Arena         int
}

// Memory gives every temporary buffer a place in an arena: arrays whose lives overlap do not. Larger arrays choose
// first, each the lowest gap that fits. It returns the places by buffer (inputs and outputs have none) and
// the arenas' sizes: one, or where a device's memories have at most so many bytes as many as it takes.
func (r *Result) Memory(most int64) (places map[int]Place, arenas []int64) {
	apart := (most + Align - 1) / Align * Align
	places, peak := r.inOne(most, apart)
	if peak <= most || most == 0 {
		return places, []int64{peak}
	}
	for b, p := range places {
		p.Arena, p.Offset = int(p.Offset/apart), p.Offset%apart
		places[b] = p
		for len(arenas) <= p.Arena {
			arenas = append(arenas, 0)
		}
		arenas[p.Arena] = max(arenas[p.Arena], p.Offset+r.Bufs[b].Bytes())
	}
	return places, arenas
}

// inOne is the plan for one arena, of which arrays take only the first most bytes after each multiple of apart; 0: all.
func (r *Result) inOne(most, apart int64) (places map[int]Place, peak int64) {
	within := func(at, size int64) int64 {
		if apart > 0 && at%apart+size > most {
			return (at + apart - 1) / apart * apart
		}
		return at
	}
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
	slices.SortStableFunc(temps, func(a, b int) int {
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
		slices.SortStableFunc(taken, func(x, y Place) int {
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
			at = within(max(at, p.Offset+p.Bytes), r.Bufs[b].Bytes())
		}
		places[b] = Place{Offset: at, Bytes: size}
		placed = append(placed, b)
		peak = max(peak, at+size)
	}
	return places, peak
}
