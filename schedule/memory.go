package schedule

import (
	"cmp"
	"slices"
)

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
	type life struct {
		buf         int
		first, last int // steps
		place       Place
	}
	of := make([]int, len(r.Bufs)) // the life of a buffer, counted from 1
	var temps []life
	for i, st := range r.Steps {
		for _, b := range st.Bufs {
			if r.Bufs[b].Kind != TempBuf {
				continue
			}
			if of[b] == 0 {
				temps = append(temps, life{buf: b, first: i})
				of[b] = len(temps)
			}
			temps[of[b]-1].last = i
		}
	}
	slices.SortFunc(temps, func(a, b life) int {
		if c := cmp.Compare(r.Bufs[b.buf].Bytes(), r.Bufs[a.buf].Bytes()); c != 0 {
			return c
		}
		return a.buf - b.buf
	})
	places = map[int]Place{}
	placed := make([]*life, 0, len(temps)) // by offset: training keeps thousands of arrays alive at once, too many to sort for each
	for i := range temps {
		t := &temps[i]
		size := (r.Bufs[t.buf].Bytes() + Align - 1) / Align * Align
		at := int64(0)
		for _, o := range placed {
			if o.first > t.last || t.first > o.last {
				continue
			}
			if at+size <= o.place.Offset {
				break
			}
			at = within(max(at, o.place.Offset+o.place.Bytes), r.Bufs[t.buf].Bytes())
		}
		t.place = Place{Offset: at, Bytes: size}
		k, _ := slices.BinarySearchFunc(placed, at, func(o *life, at int64) int { return cmp.Compare(o.place.Offset, at) })
		placed = slices.Insert(placed, k, t)
		places[t.buf] = t.place
		peak = max(peak, at+size)
	}
	return places, peak
}
