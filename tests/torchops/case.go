package torchops

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Case is one recorded call.
type Case struct {
	ID, Family, Op, Note string
	Args                 []any
	Kwargs               map[string]any
	Out                  []any
	Cot                  []any           // by output; nil where that output has no upstream gradient
	Grads                map[string]*Ref // by path of the input
	After                map[string]*Ref // by position in Args
	RTol, ATol           float64
	GRTol, GATol         float64
	AnyInt               []int
	Check                []string
	Bits, Denormal, Fail bool // Fail: the call must give an error
}

type rawCase struct {
	ID, Family, Op, Note     string
	Args                     []any
	Kwargs                   map[string]any
	Out, Cot                 []any
	Grads, After             map[string]any
	RTol, ATol, GRTol, GATol float64
	AnyInt                   []int
	Check                    []string
	Bits, Denormal           bool
	Error                    bool
}

// Load reads a folder: every line must be understood, or the folder is refused.
func Load(dir string) ([]*Case, error) {
	data, err := os.ReadFile(filepath.Join(dir, "tensors.bin"))
	if err != nil {
		return nil, err
	}
	name := filepath.Join(dir, "cases.jsonl")
	lines, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var cases []*Case
	scan := bufio.NewScanner(bytes.NewReader(lines))
	scan.Buffer(nil, 1<<26)
	for n := 1; scan.Scan(); n++ {
		if len(bytes.TrimSpace(scan.Bytes())) == 0 {
			continue
		}
		c, err := decodeCase(scan.Bytes(), data)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		cases = append(cases, c)
	}
	if err := scan.Err(); err != nil {
		return nil, err
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("%s holds no cases", name)
	}
	return cases, nil
}

func decodeCase(line, data []byte) (*Case, error) {
	var r rawCase
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	if err := dec.Decode(&r); err != nil {
		return nil, err
	}
	c := &Case{ID: r.ID, Family: r.Family, Op: r.Op, Note: r.Note, RTol: r.RTol, ATol: r.ATol, GRTol: r.GRTol, GATol: r.GATol,
		AnyInt: r.AnyInt, Check: r.Check, Bits: r.Bits, Denormal: r.Denormal, Fail: r.Error}
	var err error
	list := func(in []any) []any {
		if err != nil || in == nil {
			return nil
		}
		var v any
		if v, err = decodeValue(in, data); err != nil {
			return nil
		}
		return v.([]any)
	}
	refs := func(in map[string]any) map[string]*Ref {
		out := make(map[string]*Ref, len(in))
		for key, x := range in {
			var v any
			if v, err = decodeValue(x, data); err != nil {
				return nil
			}
			ref, ok := v.(*Ref)
			if !ok {
				err = fmt.Errorf("%s is not a tensor", key)
				return nil
			}
			out[key] = ref
		}
		return out
	}
	c.Args, c.Out, c.Cot = list(r.Args), list(r.Out), list(r.Cot)
	c.Kwargs = make(map[string]any, len(r.Kwargs))
	for key, x := range r.Kwargs {
		if err == nil {
			c.Kwargs[key], err = decodeValue(x, data)
		}
	}
	if err == nil {
		c.Grads = refs(r.Grads)
	}
	if err == nil {
		c.After = refs(r.After)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("case %s: %w", r.ID, err)
	case r.ID == "" || r.Op == "":
		return nil, fmt.Errorf("a case without id or op")
	case c.Cot != nil && len(c.Cot) != len(c.Out):
		return nil, fmt.Errorf("case %s: %d outputs and %d upstream gradients", r.ID, len(c.Out), len(c.Cot))
	}
	return c, nil
}

// walkRefs calls f for each tensor among the inputs, with its path: "0", "0.1", "weight",
// "state.bias_hh".
func (c *Case) walkRefs(f func(path string, r *Ref)) {
	for i, v := range c.Args {
		walkRefs(strconv.Itoa(i), v, f)
	}
	for key, v := range c.Kwargs {
		walkRefs(key, v, f)
	}
}

func walkRefs(path string, v any, f func(string, *Ref)) {
	switch v := v.(type) {
	case *Ref:
		f(path, v)
	case []any:
		for i, x := range v {
			walkRefs(path+"."+strconv.Itoa(i), x, f)
		}
	case map[string]any:
		for key, x := range v {
			walkRefs(path+"."+key, x, f)
		}
	}
}
