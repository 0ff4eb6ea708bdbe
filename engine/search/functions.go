package search

import (
	"context"
	"fmt"
	"strings"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/tune"
	"github.com/weft-ml/weft/dtype"
)

// Functions are what an engine asks of this package. It gets them as values, so that programs that never search do not carry them.
type Functions struct {
	Search func(m *Machine, ctx context.Context, task Task) (Result, error)
	Accept func(m *Machine, spec *codegen.Spec, text string) ([]codegen.Directive, error)
	Parse  func(text []byte) ([]Choice, error)
	Format func(list []Choice) []byte
	Key    func(t *codegen.Target, spec string) string
	Name   func(key, machine string) string
}

// All are this package's. The hash, of 64 hexadecimal digits, is handed in: cryptography is large, and pages have none.
func All(hash func(text []byte) string) *Functions {
	return &Functions{(*Machine).Search, (*Machine).Accept, ParseChoices, FormatChoices,
		func(t *codegen.Target, spec string) string { return hash([]byte(describe(t) + spec)) },
		func(key, machine string) string { return EntryName(hash, key, machine) }}
}

// Accept gives the directives that a text says, if they are legal for a Spec and make a kernel of bearable size. The text may come from
// anybody.
func (m *Machine) Accept(spec *codegen.Spec, text string) ([]codegen.Directive, error) {
	directives, err := tune.Parse(text)
	if err != nil {
		return nil, err
	}
	if err := tune.Allowed(spec, m.Target, directives); err != nil {
		return nil, err
	}
	k, err := m.Prepare(spec, directives)
	if err == nil {
		err = Bearable(&k)
	}
	return directives, err
}

// EntryName names what is kept of a kernel on a machine.
func EntryName(hash func(text []byte) string, key, machine string) string {
	return hash([]byte(key + "\n" + Word(machine)))
}

// describe writes what the code of a kernel depends on beside its Spec. The number of threads is not part of it: results are the
// same for any.
func describe(t *codegen.Target) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d %d %d %v %v %v %v %v %v %v %+v %s\n", t.Name, t.Registers, t.L1, t.L2, t.Total, t.RelaxedFMA, t.SoftFMA,
		t.Broad, t.Grid, t.ShortLoops, t.CPUBacked, t.Limits, t.Features)
	for _, d := range dtype.All {
		fmt.Fprintf(&b, "%d ", t.VectorLen(d))
	}
	return b.String()
}
