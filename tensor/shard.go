package tensor

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// Replicated is the axis of Shard for an array that every device has whole.
const Replicated = math.MinInt

// Shard gives t on several devices of one kind, "CPU:0", "CPU:1" and so on: cut into equal parts along an axis, one a device in their
// order, or whole on each with Replicated. It is lazy and differentiable, and its elements and shape are those of t: operations on it are
// those on any tensor, and each device computes its part of them. Where a device needs what others have, as for a sum over the axis that
// is cut, it is copied; Schedule shows that. A tensor that is sharded already is cut otherwise.
//
// Operands of an operation lie on the same devices. Those that are whole are cut like the others, which costs nothing; those that are cut
// along different axes do not meet. What an operation cannot compute on an array as it is cut, such as a slice of the axis, is a
// *shard.CutError when it is computed (or before, see CutAxis), which names the operation and the cut. What Assign stores stays cut as the
// tensor was.
func (t *Tensor) Shard(devices []string, axis int) *Tensor {
	if len(devices) == 1 {
		return t.On(devices[0])
	}
	e := over("Shard", devices)
	cut := 0
	if axis != Replicated {
		axis = t.axis("Shard", axis)
		if n := t.shape()[axis]; n%len(devices) != 0 {
			fail("Shard", shapes(t.shape()), "axis %d has %d elements, which %d devices cannot have equal parts of", axis, n, len(devices))
		}
		cut = axis + 1
	}
	if on := t.Engine(); on != nil && on != e && !t.constant() {
		engine.Crossed.Store(true)
	}
	return newTensor(t.node().CopyCut(e.Name(), cut), e)
}

// ShardTo shards t itself, and returns it: Replace by Shard.
func (t *Tensor) ShardTo(devices []string, axis int) *Tensor {
	return t.Replace(t.Shard(devices, axis))
}

// ShardLike gives t on the devices of o, cut along the same axis or whole like it. Both have the same number of axes where o is cut.
func (t *Tensor) ShardLike(o *Tensor) *Tensor {
	if o.Engine() == nil {
		failArg("ShardLike", "the other tensor is a constant, which lies on no device")
	}
	axis, err := o.CutAxis()
	if err != nil {
		failDevice("ShardLike", err)
	}
	return t.Shard(o.Devices(), axis)
}

// Devices are the names of the devices that t lies on, in the order of its parts; none for constants, which fit any.
func (t *Tensor) Devices() []string {
	if t.Engine() == nil {
		return nil
	}
	return t.Engine().Members()
}

// CutAxis is the axis that t is cut along, or Replicated where each of its devices has all of it, as one device has. It looks through what
// t is computed from, and says what cannot be computed as it is cut; nothing is computed.
func (t *Tensor) CutAxis() (int, error) {
	e := t.Engine()
	if e == nil || len(e.Members()) == 1 {
		return Replicated, nil
	}
	if engine.Crossed.Load() {
		if recorder() != nil && len(crossings([]*uop.UOp{t.node()}, e.Name())) > 0 {
			return 0, errors.New("how a tensor is cut that comes from other devices inside a captured function is known when that runs; Shard it as it is to be")
		}
		if err := bring(context.Background(), e, []*uop.UOp{t.node()}); err != nil {
			return 0, err
		}
	}
	cut, err := e.Lies(t.node())
	if err == nil && cut < 0 {
		cut = Replicated
	}
	return cut, err
}

// over is the engine of several devices.
func over(op string, devices []string) *engine.Engine {
	e, err := engine.Over(context.Background(), slices.Clone(devices))
	if err != nil {
		failDevice(op, err)
	}
	return e
}
