package devicetest

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// What a case gives on REF is the same for every device, so a process computes it once. WEFT_TRUTH names a file in which
// another process has left it (WriteTruth): in a page the reference evaluator takes longer than what it is compared with.

// Truth is a case on REF, as it is stored.
type Truth struct {
	Error string
	Roots []TrueRoot
}

// TrueRoot is a result of a case.
type TrueRoot struct {
	Shape  []int
	DType  dtype.DType
	Values []uop.Value
}

// truths are what is known, by name, seed and whether denormal numbers were left out.
var truths struct {
	sync.Mutex
	read  bool
	known map[string]Truth
}

// truth computes a case on REF, or looks it up.
func truth(ref *engine.Engine, c Case) ([]result, error) {
	truths.Lock()
	defer truths.Unlock()
	if file := os.Getenv("WEFT_TRUTH"); file != "" && !truths.read {
		if err := readTruth(file); err != nil {
			return nil, err
		}
		truths.read = true
	}
	known, ok := truths.known[key(c, NormalInputs)]
	if !ok {
		known = newTruth(ref, c)
		if truths.known == nil {
			truths.known = map[string]Truth{}
		}
		truths.known[key(c, NormalInputs)] = known
		if !hasTiny(ref, c) {
			truths.known[key(c, !NormalInputs)] = known
		}
	}
	if known.Error != "" {
		return nil, errors.New(known.Error)
	}
	var out []result
	for _, r := range known.Roots {
		out = append(out, result{shape: r.Shape, dtype: r.DType, values: r.Values})
	}
	return out, nil
}

func key(c Case, normal bool) string { return fmt.Sprintf("%s %d %v", c.Name, c.seed, normal) }

// hasTiny says that NormalInputs changes an input of a case.
func hasTiny(ref *engine.Engine, c Case) bool {
	in := newInputs(ref, c.seed)
	c.Build(in)
	return in.tiny
}

func newTruth(ref *engine.Engine, c Case) Truth {
	got, err := compute(ref, []Case{c})
	if err != nil {
		return Truth{Error: err.Error()}
	}
	var t Truth
	for _, r := range got[0] {
		t.Roots = append(t.Roots, TrueRoot{r.shape, r.dtype, r.values})
	}
	return t
}

func readTruth(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("WEFT_TRUTH: %w", err)
	}
	defer f.Close()
	if err := gob.NewDecoder(f).Decode(&truths.known); err != nil {
		return fmt.Errorf("WEFT_TRUTH: %s: %w", file, err)
	}
	return nil
}

// WriteTruth computes the cases that WEFT_CASE, WEFT_SEED and RunPart for n choose on REF, with the inputs that NormalInputs says.
func WriteTruth(w io.Writer, n int) error {
	ref, err := engine.Open("REF", engine.Options{})
	if err != nil {
		return err
	}
	seed, err := strconv.ParseUint(getenv("WEFT_SEED", "1"), 10, 64)
	if err != nil {
		return fmt.Errorf("WEFT_SEED: %w", err)
	}
	wanted := map[string]Truth{}
	for _, g := range groups {
		s := newSuite(seed)
		g.cases(s)
		for _, c := range s.matching(os.Getenv("WEFT_CASE"), each(n)) {
			if _, err := truth(ref, c); err != nil {
				return fmt.Errorf("%s: %w", c.Name, err)
			}
			wanted[key(c, NormalInputs)] = truths.known[key(c, NormalInputs)]
		}
	}
	return errors.Join(gob.NewEncoder(w).Encode(wanted), ref.Close())
}
