//go:build !js

package wasm

import (
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/weft-ml/weft/plan/wasmmod"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/guard"
	"github.com/weft-ml/weft/runtime/spare"
)

const (
	align = 64
	// Kernels may read up to two vectors before and behind a buffer, and at the begin of an empty one.
	border = 64
	fence  = 64 // poisoned bytes behind each buffer, with Options.Poison
	// The memory grows by a share of itself, so that it seldom does.
	growLeast = 1 << 20
)

// memory hands out ranges of the WebAssembly memory. Its methods may be called from any goroutine, because Free may
// come from a finalizer.
type memory struct {
	sync.Mutex
	dev        *Device
	limit      int64
	poison     bool
	pages      *pages
	wasm       api.Memory
	free       []block // sorted by address, never touching
	end        int64   // everything from here on was never handed out
	live, peak int64
	closed     bool
	timer      *time.Timer // set while freed pages wait for being given back
}

// block is a range of bytes.
type block struct {
	at, size int64
	// Of a free one: when the last part of it was freed, and whether the system has its pages back.
	since time.Time
	given bool
}

// mem is one buffer.
type mem struct {
	of    *memory
	block block
	n     int64
	freed bool
}

func (m *mem) Bytes() int64 { return m.n }
func (m *mem) Owner() any   { return m.of.dev }
func (m *mem) Freed() bool  { return m.freed }

// data is the buffer's bytes. They do not move.
func (m *mem) data() []byte {
	return m.of.pages.used[m.block.at : m.block.at+m.n : m.block.at+m.block.size]
}

// intact reports whether the poison behind the buffer is untouched.
func (m *mem) intact() bool {
	d := m.data()
	return !m.of.poison || guard.Filled(d[m.n:cap(d)])
}

// alloc returns n bytes of undefined contents.
func (y *memory) alloc(n int64) (*mem, error) {
	y.Lock()
	defer y.Unlock()
	full := &runtime.OutOfMemory{Device: Name, Asked: n, Live: y.live, Max: int64(len(y.pages.all))}
	if y.limit > 0 {
		full.Max = min(full.Max, y.limit)
	}
	if n > int64(len(y.pages.all)) {
		return nil, full
	}
	size := max(n, 1)
	if y.poison {
		size += fence
	}
	size = (size + align - 1) &^ (align - 1)
	if size > full.Max-y.live {
		return nil, full
	}
	b, ok := y.take(size)
	if !ok {
		return nil, full
	}
	y.live += size
	y.peak = max(y.peak, y.live)
	m := &mem{of: y, block: b, n: n}
	if y.poison {
		d := m.data()
		guard.Fill(d[:cap(d)])
	}
	return m, nil
}

// take finds the smallest free block that is large enough, or new bytes at the end.
func (y *memory) take(size int64) (block, bool) {
	best := -1
	for i, f := range y.free {
		if f.size >= size && (best < 0 || f.size < y.free[best].size) {
			best = i
		}
	}
	if best >= 0 {
		f := &y.free[best]
		b := block{at: f.at, size: size}
		f.at, f.size = f.at+size, f.size-size
		if f.size == 0 {
			y.free = append(y.free[:best], y.free[best+1:]...)
		}
		return b, true
	}
	if y.end == 0 {
		y.end = border
	}
	b := block{at: y.end, size: size}
	if last := len(y.free) - 1; last >= 0 && y.free[last].at+y.free[last].size == y.end {
		b.at = y.free[last].at
	}
	if !y.grow(b.at + size) {
		return block{}, false
	}
	if b.at < y.end {
		y.free = y.free[:len(y.free)-1]
	}
	y.end = b.at + size
	return b, true
}

// grow makes the memory reach to an address and its border.
func (y *memory) grow(to int64) bool {
	have := int64(len(y.pages.used))
	to += border
	if to <= have {
		return true
	}
	most := int64(len(y.pages.all))
	if to > most {
		return false
	}
	more := max(to-have, min(max(have/4, growLeast), most-have))
	_, ok := y.wasm.Grow(uint32((more + wasmmod.PageBytes - 1) / wasmmod.PageBytes))
	return ok
}

// Free returns the memory at once.
func (m *mem) Free() {
	y := m.of
	y.Lock()
	defer y.Unlock()
	if m.freed {
		panic("BUG: runtime/wasm: memory freed twice")
	}
	m.freed = true
	y.live -= m.block.size
	if y.closed {
		return
	}
	b := block{at: m.block.at, size: m.block.size, since: time.Now()}
	i := sort.Search(len(y.free), func(i int) bool { return y.free[i].at > b.at })
	if i < len(y.free) && b.at+b.size == y.free[i].at {
		b.size += y.free[i].size
		y.free = append(y.free[:i], y.free[i+1:]...)
	}
	if i > 0 && y.free[i-1].at+y.free[i-1].size == b.at {
		i--
		b.at, b.size = y.free[i].at, y.free[i].size+b.size
		y.free = append(y.free[:i], y.free[i+1:]...)
	}
	y.free = slices.Insert(y.free, i, b)
	if y.timer == nil && b.size >= leastGiven {
		y.timer = time.AfterFunc(spare.Age, y.age)
	}
}

// leastGiven is how many bytes are worth giving back.
const leastGiven = 1 << 20

// age gives the system back the pages of what has been free for a while, and comes again when the next is. The addresses stay.
func (y *memory) age() {
	y.Lock()
	defer y.Unlock()
	if y.timer = nil; y.closed {
		return
	}
	next := time.Duration(-1)
	for i := range y.free {
		f := &y.free[i]
		if f.given || f.size < leastGiven {
			continue
		}
		rest := spare.Age - time.Since(f.since)
		if rest <= 0 {
			y.pages.giveBack(int(f.at), int(f.at+f.size))
			f.given = true
		} else if next < 0 || rest < next {
			next = rest
		}
	}
	if next >= 0 {
		y.timer = time.AfterFunc(next, y.age)
	}
}

// close gives the pages back. Nobody may use a buffer any more.
func (y *memory) close() {
	y.Lock()
	defer y.Unlock()
	y.closed = true
	if y.timer != nil {
		y.timer.Stop()
		y.timer = nil
	}
	y.pages.release()
}
