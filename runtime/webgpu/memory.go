package webgpu

import (
	"fmt"
	"math/bits"
	"sync"

	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/guard"
)

const (
	keepBytes = 64 << 20 // freed bytes that may always be kept for reuse
)

// memory hands out buffers and keeps freed ones for reuse by size: the queue is in order, so a buffer that
// queued work still uses may be given to later work. Its methods may be called from any goroutine.
type memory struct {
	sync.Mutex
	dev    *Device
	closed bool
	nextID uint64

	live, peak, cached int64
	free               map[int64][]*block
	epoch              uint64 // counts buffers that were given back: groups made before may hold them
}

// block is a buffer of the transport; id tells blocks apart for ever.
type block struct {
	buffer Buffer
	size   int64
	id     uint64
}

// mem is memory of the device.
type mem struct {
	of     *memory
	bytes  int64 // as asked for
	buffer Buffer
	block  *block
}

func (m *mem) Bytes() int64 { return m.bytes }
func (m *mem) Owner() any   { return m.of.dev }
func (m *mem) Freed() bool  { return m.block == nil }

// Free gives the memory back for reuse by work that is queued later.
func (m *mem) Free() {
	y := m.of
	y.Lock()
	defer y.Unlock()
	if m.block == nil {
		panic("BUG: runtime/webgpu: memory freed twice")
	}
	b := m.block
	m.block, m.buffer = nil, nil
	if y.closed {
		return
	}
	y.live -= b.size
	y.cached += b.size
	y.free[b.size] = append(y.free[b.size], b)
	if y.cached > keepBytes+y.live {
		y.trim()
	}
}

func (y *memory) init(d *Device) { y.dev, y.free = d, map[int64][]*block{} }

// Live is the bytes handed out now, Peak the most there ever were.
func (d *Device) Live() (live, peak int64) {
	d.memory.Lock()
	defer d.memory.Unlock()
	return d.memory.live, d.memory.peak
}

// Alloc returns memory of undefined contents.
func (d *Device) Alloc(bytes int64) (runtime.Mem, error) {
	if err := d.door.Alloc(bytes); err != nil {
		return nil, err
	}
	m, err := d.memory.alloc(bytes)
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (y *memory) alloc(n int64) (*mem, error) {
	y.Lock()
	defer y.Unlock()
	if most := y.dev.adapter.Limits.MaxBytes; n > most {
		return nil, &runtime.TooLarge{Device: Name, Asked: n, Max: most}
	}
	size := min(blockSize(n), max(y.dev.adapter.Limits.MaxBytes, (n+3)&^3))
	if y.dev.options.MemoryLimit > 0 && size > y.dev.options.MemoryLimit-y.live {
		return nil, y.full(n)
	}
	b := y.reuse(size)
	if b == nil {
		buffer, err := y.dev.gpu.Buffer(size, Storage)
		if err != nil && y.cached > 0 && y.dev.gpu.Lost() == nil {
			y.trim()
			buffer, err = y.dev.gpu.Buffer(size, Storage)
		}
		if err != nil {
			if why := y.dev.gpu.Lost(); why != nil {
				return nil, &runtime.Lost{Device: Name, Why: why}
			}
			return nil, fmt.Errorf("%w (%w)", y.full(n), err)
		}
		y.nextID++
		b = &block{buffer, size, y.nextID}
	}
	y.live += b.size
	y.peak = max(y.peak, y.live)
	if y.dev.options.Poison {
		if err := y.dev.gpu.Write(b.buffer, 0, poisoned(b.size)); err != nil {
			return nil, y.dev.failed("poison", err)
		}
	}
	return &mem{y, n, b.buffer, b}, nil
}

func poisoned(n int64) []byte {
	p := make([]byte, n)
	guard.Fill(p)
	return p
}

func (y *memory) full(n int64) error {
	return &runtime.OutOfMemory{Device: Name, Asked: n, Live: y.live, Max: max(y.dev.options.MemoryLimit, y.live)}
}

// blockSize rounds n up: four classes a doubling, so that freed buffers fit others; never below 256 bytes.
func blockSize(n int64) int64 {
	n = max(n, nothingBytes)
	step := max(int64(nothingBytes), int64(1)<<max(0, bits.Len64(uint64(n-1))-3))
	return (n + step - 1) / step * step
}

func (y *memory) reuse(size int64) *block {
	list := y.free[size]
	if len(list) == 0 {
		return nil
	}
	b := list[len(list)-1]
	y.free[size] = list[:len(list)-1]
	y.cached -= size
	return b
}

// trim gives all kept buffers back.
func (y *memory) trim() {
	for _, list := range y.free {
		for _, b := range list {
			b.buffer.Release()
		}
	}
	clear(y.free)
	y.cached = 0
	y.epoch++
}

func (y *memory) close() {
	y.Lock()
	defer y.Unlock()
	y.trim()
	y.closed = true
}
