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
	// run computes a graph of arrays and values of variables, and says where the results lie: in stores, in the order of the graph's roots.
	run(ctx context.Context, c *canonical, inputs []*storage, vars []int32, stores []*storage) error
	read(ctx context.Context, s *storage, dst []byte) error
	write(s *storage, d dtype.DType, shape []int, data []byte, cut int) error
	// ran is the program of the last run of a graph, as plan gives it.
	ran(c *canonical) (view any)
	launches(c *canonical) int // of that run
	flags(columns []column) []target
	plan(targets []target) (view any, err error) // a *View, which programs that look at none need not link for this
}

// lies says where the elements of an array on several devices are. It is never changed: an assignment makes another, so that arrays may
// share parts.
type lies struct {
	shape uop.Shape // that the cut is stated for
	cut   int       // an axis, or shard.Whole
	parts []*uop.UOp
	free  bool // nothing but constants says so: the next assignment may cut otherwise
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
	if err != nil || n < 0 || n >= MaxSame || digits != strconv.Itoa(n) {
		return "", 0, &UnknownDevice{Name: name, Reason: fmt.Sprintf("a number from 0 to %d belongs behind the colon", MaxSame-1)}
	}
	return kind, n, nil
}

// FromBytesCut is FromBytes of an array that several devices have, cut into equal parts along an axis; cut is the axis plus one, and 0
// gives all to each.
func (e *Engine) FromBytesCut(d dtype.DType, shape []int, data []byte, cut int) (*uop.UOp, error) {
	return e.fromBytes(d, shape, data, cut)
}
