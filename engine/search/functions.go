package search

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/tune"
	"github.com/weft-ml/weft/dtype"
)

// Functions are what an engine asks of this package. It gets them as values, so that programs that never search do not carry them.
type Functions struct {
	Search func(m *Machine, ctx context.Context, task Task) (Result, error)
	Accept func(m *Machine, spec *codegen.Spec, text string) ([]codegen.Move, error)
	Parse  func(text []byte) ([]Choice, error)
	Format func(list []Choice) []byte
	Key    func(t *codegen.Target, spec string) string
	Name   func(key, machine string) string
}

// All are this package's.
func All() *Functions {
	return &Functions{(*Machine).Search, (*Machine).Accept, ParseChoices, FormatChoices, Key, EntryName}
}

// Accept gives the moves that a text says, if they are legal for a Spec and make a kernel of bearable size. The text may come from
// anybody.
func (m *Machine) Accept(spec *codegen.Spec, text string) ([]codegen.Move, error) {
	moves, err := tune.Parse(text)
	if err != nil {
		return nil, err
	}
	if err := tune.Allowed(spec, m.Target, moves); err != nil {
		return nil, err
	}
	k, err := m.Prepare(spec, moves)
	if err == nil {
		err = Bearable(&k)
	}
	return moves, err
}

// EntryName names what is kept of a kernel on a machine.
func EntryName(key, machine string) string {
	sum := sha256.Sum256([]byte(key + "\n" + Word(machine)))
	return hex.EncodeToString(sum[:])
}

// Key names a kernel, of whose Spec the text is given, and what its code depends on. The number of threads is not part of it:
// results are the same for any.
func Key(t *codegen.Target, spec string) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %d %d %d %v %v %v %v %v %v %v %v %+v %s\n", t.Name, t.Registers, t.L1, t.L2, t.Threads, t.Total, t.Loose, t.SoftFMA,
		t.Broad, t.Grid, t.ShortLoops, t.Software, t.Limits, t.Features)
	for _, d := range []dtype.DType{dtype.F64, dtype.F32, dtype.F16, dtype.BF16, dtype.I64, dtype.I32, dtype.I16, dtype.I8, dtype.U8, dtype.Bool} {
		fmt.Fprintf(h, "%d ", t.VectorLen(d))
	}
	h.Write([]byte(spec))
	return hex.EncodeToString(h.Sum(nil))
}
