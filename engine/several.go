package engine

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/uop"
)

// An engine may stand for several devices of one kind (see Over). Nodes, versions, assignments, checks and captured functions are the
// same for it as for any other; only where arrays lie and how targets are computed differs, which is what this interface says. It is an
// interface so that programs that never join devices do not link what does (group.go).
type several interface {
	// realize computes targets, of which pure values are known. with says what a run of a captured function has in the place of arrays
	// and variables; nil: nothing.
	realize(ctx context.Context, targets []target, with *rebinding) error
	read(ctx context.Context, s *storage, dst []byte) error
	write(s *storage, d dtype.DType, shape []int, data []byte, cut int) error
	plan(targets []target) (*View, error)
}

// lies says where the elements of an array on several devices are. It is never changed: an assignment makes another, so that arrays may
// share parts.
type lies struct {
	shape uop.Shape // that the cut is stated for
	cut   int       // an axis, or shard.Whole
	parts []*uop.UOp
	free  bool // nothing but constants says so: the next assignment may cut otherwise
}

// rebinding is what a run of a captured function reads in the place of what it was captured with.
type rebinding struct {
	arrays map[*storage]*storage
	vars   map[uop.VarArg]int32
}

func rebound(c *Captured, bound []*storage, vars []int32) *rebinding {
	with := &rebinding{map[*storage]*storage{}, map[uop.VarArg]int32{}}
	for slot, s := range c.inputs {
		with.arrays[s] = bound[slot]
	}
	for i, v := range c.vars {
		with.vars[v] = vars[i]
	}
	return with
}

// array gives the array that is read in the place of one.
func (w *rebinding) array(s *storage) *storage {
	if w != nil && w.arrays[s] != nil {
		return w.arrays[s]
	}
	return s
}

// MaxSame is how many devices of one kind there are at most.
const MaxSame = 64

// ordinal takes the number from the name of a device: 0 where there is none.
func ordinal(name string) (kind string, number int, err error) {
	kind, digits, ok := strings.Cut(name, ":")
	if !ok {
		return name, 0, nil
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || digits != strconv.Itoa(n) {
		return "", 0, fmt.Errorf("device %q: a number from 0 to %d belongs behind the colon", name, MaxSame-1)
	}
	if n >= MaxSame {
		return "", 0, fmt.Errorf("device %q: the last one is %s:%d", name, kind, MaxSame-1)
	}
	return kind, n, nil
}

// FromBytesCut is FromBytes of an array that several devices have, cut into equal parts along an axis; cut is the axis plus one, and 0
// gives all to each.
func (e *Engine) FromBytesCut(d dtype.DType, shape []int, data []byte, cut int) (*uop.UOp, error) {
	if e.several == nil {
		return e.FromBytes(d, shape, data)
	}
	return e.fromBytes(d, shape, data, cut)
}

// playRun plays a captured function's plan, or has several devices compute its targets.
func (c *Captured) playRun(ctx context.Context, bound []*storage, vars []int32, targets []target) error {
	e := c.engine
	if e.several != nil {
		return e.several.realize(ctx, targets, rebound(c, bound, vars))
	}
	return e.run(ctx, c.plan, bound, vars, targets)
}
