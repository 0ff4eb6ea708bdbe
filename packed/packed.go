// Package packed multiplies with matrices whose elements take few bits, as they are stored: bytes with scales of blocks. What unpacks them is an
// expression of shifts and products that becomes part of the kernel that multiplies, so that a row of activations moves the bytes of the
// packed matrix and no others, on every device.
//
// It knows how the elements of a block lie and refuses to know files and models.
//
//	m, err := packed.New("Q4_0", 4096, 11008, raw, "")
//	y := m.Linear(x) // x[…, 11008] · mᵀ
package packed

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// Matrix is a packed matrix [Rows, Cols].
type Matrix struct {
	Rows, Cols int

	blocks int // of a row
	form   *form
	parts  []*tensor.Tensor // of each row, block by block
}

// form is how blocks are stored. The elements of a block are seen in several dims, of which one, the terms, goes from one operation to
// another: as the lower and the upper halves of bytes.
type form struct {
	block, bytes int   // elements and bytes of a block
	dims         []int // of the elements
	terms        int   // which of them
	parts        []part
	split        func(dst [][]byte, block []byte)            // one block into its parts
	unpack       func(parts []*tensor.Tensor, i int) operand // the elements of term i
}

// part is an array of a block.
type part struct {
	dtype dtype.DType
	dims  []int
}

func (p part) bytes() int {
	n := p.dtype.Size()
	for _, d := range p.dims {
		n *= d
	}
	return n
}

// operand are elements [rows, blocks, …]: q·scale − least. A scale that is the same for all terms is left out of q and common to all.
type operand struct{ q, common *tensor.Tensor }

// Has says whether matrices of a storage type of GGUF files are multiplied as they are.
func Has(name string) bool { return forms[name] != nil }

// Names lists these types.
func Names() []string { return slices.Sorted(maps.Keys(forms)) }

// New is a matrix from its rows of blocks, as they lie in a GGUF file. It lies on a device, "" is the default one. Scales are taken as
// they are, also those that are infinite or no number.
func New(name string, rows, cols int, raw []byte, device string) (*Matrix, error) {
	f := forms[name]
	switch {
	case f == nil:
		return nil, fmt.Errorf("packed: %.32q is not multiplied as it is; %v are", name, Names())
	case rows < 1 || cols < 1 || cols%f.block != 0:
		return nil, fmt.Errorf("packed: a matrix of %d×%d; rows of %s are blocks of %d", rows, cols, name, f.block)
	case len(raw)%f.bytes != 0 || len(raw)/f.bytes/rows != cols/f.block || len(raw)/f.bytes%rows != 0:
		return nil, fmt.Errorf("packed: %d bytes of %s are not the blocks of %d×%d elements", len(raw), name, rows, cols)
	}
	n := len(raw) / f.bytes
	arrays, rest := make([][]byte, len(f.parts)), make([][]byte, len(f.parts))
	for i, p := range f.parts {
		arrays[i] = make([]byte, n*p.bytes())
		rest[i] = arrays[i]
	}
	for ; len(raw) > 0; raw = raw[f.bytes:] {
		f.split(rest, raw[:f.bytes])
		for i, p := range f.parts {
			rest[i] = rest[i][p.bytes():]
		}
	}
	m := &Matrix{Rows: rows, Cols: cols, blocks: cols / f.block, form: f}
	for i, p := range f.parts {
		t := tensor.FromBytes(p.dtype, append([]int{rows, m.blocks}, p.dims...), arrays[i])
		if device != "" {
			t = t.On(device)
		}
		m.parts = append(m.parts, t)
	}
	return m, nil
}

// Parts are the arrays that hold the matrix: what has to be realized.
func (m *Matrix) Parts() []*tensor.Tensor { return slices.Clone(m.parts) }

// Bytes is how many these arrays have.
func (m *Matrix) Bytes() (n int64) {
	for _, t := range m.parts {
		n += int64(t.Numel()) * int64(t.DType().Size())
	}
	return n
}

// Unpack is the matrix as float32 [Rows, Cols], exactly as package gguf unpacks it.
func (m *Matrix) Unpack() *tensor.Tensor {
	var list []*tensor.Tensor
	for i := range m.form.dims[m.form.terms] {
		o := m.form.unpack(m.parts, i)
		if o.common != nil {
			o.q = o.q.Mul(o.common)
		}
		list = append(list, o.q)
	}
	return tensor.Stack(2+m.form.terms, list...).Reshape(m.Rows, m.Cols)
}

// manyRows is how many rows of x make it worth to unpack elements ahead, as float32: for fewer rows, what is common to a block is multiplied once for all
// of its products.
const manyRows = 32

// Linear is x[…, Cols] · mᵀ in float32, [Rows] in place of the last axis. Elements are unpacked where they are multiplied, for several rows
// of x together: nothing but the packed matrix is read, and nothing else of it is kept.
func (m *Matrix) Linear(x *tensor.Tensor) *tensor.Tensor {
	x = x.To(dtype.F32)
	if x.Rank() == 0 || x.Dim(-1) != m.Cols {
		return x.Linear(m.Unpack(), nil) // which says what is wrong
	}
	f, n := m.form, x.Numel()/m.Cols
	dims := append([]int{n, 1, m.blocks}, f.dims...)
	seen := x.Reshape(dims...)
	if k := f.dims[f.terms]; f.terms == len(f.dims)-1 { // neighbours belong to different terms: brought apart once
		seen = x.Reshape(n*m.Cols/k, k).T().Contiguous().T().Reshape(dims...)
	}
	var sum, common *tensor.Tensor
	for i := range f.dims[f.terms] {
		o := f.unpack(m.parts, i)
		if n >= manyRows && o.common != nil {
			o = operand{o.q.Mul(o.common), nil}
		}
		v := o.q.Mul(seen.Select(3+f.terms, i))
		if sum != nil {
			v = sum.Add(v)
		}
		sum, common = v, o.common
	}
	if common != nil {
		sum = sum.Mul(common)
	}
	axes := make([]int, sum.Rank()-2)
	for i := range axes {
		axes[i] = i + 2
	}
	shape := x.Shape()
	shape[len(shape)-1] = m.Rows
	return sum.Sum(axes...).Reshape(shape...)
}

// Embedding are rows of the matrix, unpacked: ids[…] to […, Cols] in float32.
func (m *Matrix) Embedding(ids *tensor.Tensor) *tensor.Tensor {
	some := &Matrix{Rows: ids.Numel(), Cols: m.Cols, blocks: m.blocks, form: m.form}
	for _, t := range m.parts {
		some.parts = append(some.parts, t.IndexSelect(0, ids.Reshape(ids.Numel())))
	}
	return some.Unpack().Reshape(append(ids.Shape(), m.Cols)...)
}
