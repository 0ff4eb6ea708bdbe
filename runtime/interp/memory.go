package interp

import (
	"sync"
	"unsafe"

	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/guard"
)

const (
	align   = 64
	largest = 1 << 46 // bytes; more is a mistake, and make would panic
	probed  = 1 << 30 // bytes; more is asked of the system first, since Go ends the program where it gives none
)

// memory counts what is handed out; the bytes are Go's.
type memory struct {
	sync.Mutex
	dev               *Device
	limit, live, peak int64
	poison            bool
}

// mem is one buffer.
type mem struct {
	of   *memory
	data []byte
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
	m.of.live -= m.Bytes()
	m.data = nil
}

func (y *memory) alloc(n int64) (*mem, error) {
	y.Lock()
	defer y.Unlock()
	if y.limit > 0 && n > y.limit-y.live || n > largest || n > probed && !gives(n) {
		return nil, &runtime.OutOfMemory{Device: Name, Asked: n, Live: y.live, Max: y.limit}
	}
	y.live += n
	y.peak = max(y.peak, y.live)
	m := &mem{of: y, data: aligned(n)}
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
