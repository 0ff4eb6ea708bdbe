//go:build !wasm

package native

import (
	"math/bits"
	"sync"
	"unsafe"

	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/guard"
	"github.com/weft-ml/weft/runtime/spare"
)

const (
	deviceName = "CPU"
	align      = 64       // of every buffer: a cache line, the widest vector
	smallMax   = 64 << 10 // larger buffers have pages of their own
	chunkBytes = 1 << 20  // small ones are cut from chunks of this size
	hugeMin    = 2 << 20  // from here on 2 MiB pages are worth asking for
	hugePage   = 2 << 20
	keepMin    = 256 << 20 // freed bytes that may always be kept for reuse
	border     = 64        // poisoned bytes behind each buffer, with Options.Poison
)

// memory hands out bytes outside the Go heap, so that the collector neither moves nor scans
// nor counts them. Freed blocks are kept for reuse: small ones by size for ever, large ones for
// a while, and no more than together with what is live were needed at once. Its methods may be
// called from any goroutine, because Free may come from a finalizer.
type memory struct {
	sync.Mutex
	dev    *Device
	limit  int64
	poison bool
	closed bool

	live, peak int64

	chunks     [][]byte
	rest       []byte // of the last chunk
	small      map[int][][]byte
	smallLive  int   // blocks
	smallSpare int64 // bytes
	large      *spare.Pool[block]
}

func (y *memory) init(d *Device, limit int64, poison bool) {
	y.dev, y.limit, y.poison = d, limit, poison
	y.small = map[int][][]byte{}
	y.large = spare.New(y, func(b block) { unmapPages(b.pages) })
}

// cached is how many bytes are kept for reuse. The lock is held.
func (y *memory) cached() int64 { return y.smallSpare + y.large.Bytes() }

// block is a large buffer: data lies aligned within pages.
type block struct{ data, pages []byte }

// mem is one buffer.
type mem struct {
	of    *memory
	data  []byte // what was asked for
	block block  // what is behind it
}

func (m *mem) Bytes() int64 { return int64(len(m.data)) }
func (m *mem) Owner() any   { return m.of.dev }
func (m *mem) Freed() bool  { return m.block.data == nil }

func (m *mem) addr() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(m.data))) }

// Free returns the memory at once.
func (m *mem) Free() { m.of.free(m) }

// intact reports whether the poison behind the buffer is untouched.
func (m *mem) intact() bool {
	if !m.of.poison {
		return true
	}
	return guard.Filled(m.block.data[len(m.data):])
}

// alloc returns n bytes of undefined contents, aligned to 64.
func (y *memory) alloc(n int64) (*mem, error) {
	y.Lock()
	defer y.Unlock()
	if n > 1<<46 { // beyond any address space: keep the sums below from wrapping
		return nil, &runtime.OutOfMemory{Device: deviceName, Asked: n, Live: y.live, Max: y.limit}
	}
	size := max(n, 1)
	if y.poison {
		size += border
	}
	size = blockSize(size)
	if y.limit > 0 && size > y.limit-y.live {
		return nil, &runtime.OutOfMemory{Device: deviceName, Asked: n, Live: y.live, Max: y.limit}
	}
	b, ok := y.reuse(int(size))
	if !ok {
		if y.limit > 0 {
			y.trim(y.limit - y.live - size)
		}
		var err error
		if b, err = y.fresh(int(size)); err != nil { // the system has no more: give back what is kept
			y.trim(0)
			if b, err = y.fresh(int(size)); err != nil {
				return nil, &runtime.OutOfMemory{Device: deviceName, Asked: n, Live: y.live, Max: y.limit}
			}
		}
	}
	y.live += int64(len(b.data))
	y.peak = max(y.peak, y.live)
	if b.pages == nil {
		y.smallLive++
	}
	if y.poison {
		guard.Fill(b.data)
	}
	return &mem{of: y, data: b.data[:n:n], block: b}, nil
}

// blockSize rounds n up: small sizes to four classes a doubling, large ones to 4 KiB.
func blockSize(n int64) int64 {
	if n > smallMax {
		return (n + 4095) &^ 4095
	}
	step := max(int64(align), int64(1)<<max(0, bits.Len64(uint64(n-1))-3))
	return (n + step - 1) / step * step
}

// reuse takes a kept block: of the same size when small, else the best of those that waste
// less than a quarter.
func (y *memory) reuse(size int) (block, bool) {
	if size <= smallMax {
		list := y.small[size]
		if len(list) == 0 {
			return block{}, false
		}
		b := list[len(list)-1]
		y.small[size] = list[:len(list)-1]
		y.smallSpare -= int64(size)
		return block{data: b}, true
	}
	most := int64(size + size/4)
	if y.limit > 0 {
		most = min(most, y.limit-y.live)
	}
	b, _, ok := y.large.Take(int64(size), most)
	return b, ok
}

func (y *memory) fresh(size int) (block, error) {
	if size > smallMax {
		if size < hugeMin {
			pages, err := mapPages(size)
			return block{pages, pages}, err
		}
		pages, err := mapPages(size + hugePage)
		if err != nil {
			return block{}, err
		}
		at := int(-uintptr(unsafe.Pointer(unsafe.SliceData(pages))) & (hugePage - 1))
		data := pages[at : at+size : at+size]
		hugePages(data[:size&^(hugePage-1)])
		return block{data, pages}, nil
	}
	if len(y.rest) < size {
		chunk, err := mapPages(chunkBytes)
		if err != nil {
			return block{}, err
		}
		y.chunks = append(y.chunks, chunk)
		y.rest = chunk // the end of the chunk before is lost: at most one small buffer
	}
	b := y.rest[:size:size]
	y.rest = y.rest[size:]
	return block{data: b}, nil
}

func (y *memory) free(m *mem) {
	y.Lock()
	defer y.Unlock()
	if m.block.data == nil {
		panic("BUG: runtime/native: memory freed twice")
	}
	b := m.block
	m.block, m.data = block{}, nil
	size := int64(len(b.data))
	y.live -= size
	if b.pages == nil {
		y.smallLive--
		y.smallSpare += size
		y.small[int(size)] = append(y.small[int(size)], b.data)
	} else {
		y.large.Put(b, size)
	}
	keep := max(keepMin, y.peak-y.live)
	if y.limit > 0 {
		keep = min(keep, y.limit-y.live)
	}
	if y.closed {
		keep = 0
	}
	y.trim(keep)
}

// trim gives kept large blocks back to the system, oldest first, until at most keep bytes are
// kept. Small ones stay in their chunks.
func (y *memory) trim(keep int64) {
	y.large.Trim(max(0, keep-y.smallSpare))
	if y.closed && y.smallLive == 0 {
		for _, c := range y.chunks {
			unmapPages(c)
		}
		y.chunks, y.rest, y.small, y.smallSpare = nil, nil, nil, 0
	}
}

// close gives everything back that is not live; live buffers follow when they are freed.
func (y *memory) close() {
	y.Lock()
	defer y.Unlock()
	y.closed = true
	y.trim(0)
}
