package weights

import (
	"fmt"
	"io"
	"math/bits"
	"slices"
	"sync"
)

// Strides are the distances, in elements, between neighbours of a row-major tensor.
func Strides(shape []int64) []int64 {
	out := make([]int64, len(shape))
	step := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		out[i] = step
		step *= max(shape[i], 1)
	}
	return out
}

// Strided is a view of elements that lie in a store with any distances.
type Strided struct {
	Store          io.ReaderAt
	Bytes          int64 // of the store
	Element        int64 // bytes of an element
	Offset         int64 // of the first element, in elements
	Shape, Strides []int64
	Repeats        bool // there may be more elements than the store has; whoever says so bounds them
}

// Check says what is wrong with a view: each element has to lie in the store, and there may not be more of them than the store has but
// where Repeats says so, that nothing small becomes large. The shape's product must have been checked.
func (s *Strided) Check() error {
	if len(s.Strides) != len(s.Shape) {
		return fmt.Errorf("%d dims and %d strides", len(s.Shape), len(s.Strides))
	}
	if s.Offset < 0 {
		return fmt.Errorf("it begins %d elements before its storage", -s.Offset)
	}
	count := int64(1)
	for _, n := range s.Shape {
		count *= n
	}
	have := s.Bytes / s.Element
	if count == 0 {
		return nil
	}
	last := uint64(s.Offset)
	for i, n := range s.Shape {
		if s.Strides[i] < 0 {
			return fmt.Errorf("negative stride %d", s.Strides[i])
		}
		hi, lo := bits.Mul64(uint64(n-1), uint64(s.Strides[i]))
		var carry uint64
		last, carry = bits.Add64(last, lo, 0)
		if hi != 0 || carry != 0 || last > 1<<62 {
			return fmt.Errorf("shape %v with strides %v overflows", s.Shape, s.Strides)
		}
	}
	if last >= uint64(have) {
		return fmt.Errorf("its last element is number %d of a storage of %d", last, have)
	}
	if count > have && !s.Repeats {
		return fmt.Errorf("it repeats elements: %d of them from a storage of %d; save a copy that is not expanded", count, have)
	}
	return nil
}

// Data is the elements of a checked view in row-major order. Where they lie so in the store nothing is read yet; else the store is read
// whole when the first is.
func (s *Strided) Data() io.ReaderAt {
	size := s.Element
	for _, n := range s.Shape {
		size *= n
	}
	if size == 0 || s.contiguous() {
		return io.NewSectionReader(s.Store, s.Offset*s.Element, size)
	}
	return &gathered{view: s, size: size}
}

func (s *Strided) contiguous() bool {
	want := Strides(s.Shape)
	for i, n := range s.Shape {
		if n > 1 && s.Strides[i] != want[i] {
			return false
		}
	}
	return true
}

// gathered puts the elements of a view in order.
type gathered struct {
	view *Strided
	size int64

	once sync.Once
	data []byte
	err  error
}

func (g *gathered) ReadAt(p []byte, at int64) (int, error) {
	g.once.Do(func() { g.data, g.err = g.gather() })
	switch {
	case g.err != nil:
		return 0, g.err
	case at < 0:
		return 0, fmt.Errorf("byte %d lies before the first", at)
	case at >= g.size:
		return 0, io.EOF
	}
	n := copy(p, g.data[at:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (g *gathered) gather() ([]byte, error) {
	v := g.view
	store := make([]byte, v.Bytes)
	if n, err := v.Store.ReadAt(store, 0); n < len(store) {
		return nil, fmt.Errorf("only %d of %d bytes of the storage could be read: %w", n, len(store), ended(err))
	}
	out := make([]byte, 0, g.size)
	at := make([]int64, len(v.Shape))
	from := v.Offset
	for int64(len(out)) < g.size {
		out = append(out, store[from*v.Element:(from+1)*v.Element]...)
		for i := range slices.Backward(at) {
			at[i]++
			from += v.Strides[i]
			if at[i] < v.Shape[i] {
				break
			}
			from -= at[i] * v.Strides[i]
			at[i] = 0
		}
	}
	return out, nil
}
