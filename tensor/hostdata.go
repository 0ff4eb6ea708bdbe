package tensor

import (
	"encoding/binary"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// beside puts elements on t's device, the default one when t is a constant.
func (t *Tensor) beside(d dtype.DType, shape []int, raw []byte) *Tensor {
	e := t.Engine()
	var err error
	if e == nil {
		if e, err = engine.Use(""); err != nil {
			failDevice("upload", err)
		}
	}
	u, err := e.FromBytes(d, shape, raw)
	if err != nil {
		failDevice("upload", err)
	}
	return newTensor(u, e)
}

// ints are int32 numbers on t's device.
func (t *Tensor) ints(v []int32, shape ...int) *Tensor {
	raw := make([]byte, 0, 4*len(v))
	for _, x := range v {
		raw = binary.LittleEndian.AppendUint32(raw, uint32(x))
	}
	return t.beside(dtype.I32, shape, raw)
}

// floats are numbers of t's float type on t's device, rounded from v.
func (t *Tensor) floats(v []float64, shape ...int) *Tensor {
	d := floating(t.DType())
	raw := make([]byte, 0, d.Size()*len(v))
	for _, x := range v {
		raw = appendBits(raw, d, uop.ToBits(d, uop.FloatValue(d, x)))
	}
	return t.beside(d, shape, raw)
}

// gather picks along an axis by a list of indices known now, the same for all other axes.
func (t *Tensor) gather(axis int, indices []int32) *Tensor {
	if len(indices) == 0 {
		return t.Narrow(axis, 0, 0)
	}
	list := t.ints(indices, len(indices))
	u := t.node().Gather(alongAxis(list.node(), axis, with(t.shape(), axis, len(indices))), axis)
	return newTensor(u, list.Engine())
}
