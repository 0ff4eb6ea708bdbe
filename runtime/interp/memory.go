package interp

import (
	"sync"
	"unsafe"

	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/guard"
	"github.com/weft-ml/weft/runtime/spare"
)

const (
	align   = 64
	largest = 1 << 46 // bytes; more is a mistake, and make would panic
	probed  = 1 << 30 // bytes; more is asked of the system first, since Go ends the program where it gives none

	leastSpare = 64 << 10 // bytes of a block that is worth keeping
)

// memory counts what is handed out; the bytes are Go's, which would fill each new array with zeros first. Large blocks
// are kept for reuse, no more than together with what is live were needed at once.
type memory struct {
	sync.Mutex
	dev               *Device
	limit, live, peak int64
	poison            bool
	spare             *spare.Pool[[]byte]
}

func (y *memory) init(d *Device, limit int64, poison bool) {
	y.dev, y.limit, y.poison = d, limit, poison
	y.spare = spare.New(y, func([]byte) {}) // the collector takes it
}

// mem is one buffer.
type mem struct {
	of    *memory
	data  []byte // what was asked for, and no more behind it
	block []byte
}

func (m *mem) Bytes() int64 { return int64(len(m.data)) }
func (m *mem) Owner() any   { return m.of.dev }
func (m *mem) Freed() bool  { return m.data == nil }

// Free returns the memory at once.
func (m *mem) Free() {
	m.of.Lock()
	defer m.of.Unlock()
	if m.data == nil {
		panic("BUG: runtime/interp: memory freed twice")
	}
	y := m.of
	y.live -= m.Bytes()
	if size := int64(len(m.block)); size >= leastSpare {
		y.spare.Put(m.block, size)
		y.spare.Trim(y.peak - y.live)
	}
	m.data, m.block = nil, nil
}

func (y *memory) alloc(n int64) (*mem, error) {
	y.Lock()
	defer y.Unlock()
	full := &runtime.OutOfMemory{Device: Name, Asked: n, Live: y.live, Max: y.limit}
	if y.limit > 0 && n > y.limit-y.live || n > largest {
		return nil, full
	}
	block, _, ok := y.spare.Take(max(n, leastSpare), n+n/4)
	if !ok {
		if y.limit > 0 {
			y.spare.Trim(y.limit - y.live - n)
		}
		if n > probed && !gives(n) {
			y.spare.Trim(0)
			return nil, full
		}
		block = aligned(n)
	}
	y.live += n
	y.peak = max(y.peak, y.live)
	m := &mem{of: y, data: block[:n:n], block: block}
	if y.poison {
		guard.Fill(m.data)
	}
	return m, nil
}

// aligned makes n bytes that begin at a multiple of align. The result is never nil.
func aligned(n int64) []byte {
	b := make([]byte, n+align)
	at := int64(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (align - 1))
	return b[at : at+n : at+n]
}
