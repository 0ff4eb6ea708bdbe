package export

import (
	"encoding/json"
	"slices"

	"github.com/weft-ml/weft/saved"
	"github.com/weft-ml/weft/uop"
)

// manifest is model.json: what the player needs to know.
type manifest struct {
	Format     string               `json:"format"`
	Version    int                  `json:"version"`
	Weights    fileOf               `json:"weights"`
	Devices    map[string]deviceOf  `json:"devices"`
	Arrays     []arrayOf            `json:"arrays"`
	Generators []generatorOf        `json:"generators"`
	Functions  map[string]*function `json:"functions"`
}

type fileOf struct {
	File  string `json:"file"`
	Bytes int    `json:"bytes"`
	Sum   uint32 `json:"sum"`
}

// deviceOf is the file of the plans of a device, and that of their kernels, where those are apart.
type deviceOf struct {
	fileOf
	Kernels *fileOf `json:"kernels,omitempty"`
}

type arrayOf struct {
	DType string `json:"dtype"`
	N     int    `json:"n"`
	Form  string `json:"form"`
	At    int64  `json:"at"`
	Bytes int64  `json:"bytes"`
	Sum   uint32 `json:"sum"`
}

// generatorOf has words of 32 bits, the lower first.
type generatorOf struct {
	Seed  [2]uint32 `json:"seed"`
	Drawn [2]uint32 `json:"drawn"`
}

type function struct {
	Inputs  []inputOf  `json:"inputs"`
	Results []resultOf `json:"results"`
	Vars    []varOf    `json:"vars"`
	Arrays  []int      `json:"arrays"`
	Targets []targetOf `json:"targets"`
	Draws   []drawOf   `json:"draws"`
	Ran     bool       `json:"ran"`
	devices map[string]playsOf
}

type inputOf struct {
	Name  string `json:"name"`
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
}

type resultOf struct {
	inputOf
	Target int      `json:"target"`
	Slot   int      `json:"slot"`
	Sizes  []sizeOf `json:"sizes,omitempty"`
}

// sizeOf is c + Σ k · the value of variable v; terms are [k, v].
type sizeOf struct {
	C     int      `json:"c"`
	Terms [][2]int `json:"terms"`
}

type varOf struct {
	Name  string `json:"name"`
	Lo    int    `json:"lo"`
	Hi    int    `json:"hi"`
	Value *int   `json:"value,omitempty"`
}

type targetOf struct {
	DType  string    `json:"dtype"`
	N      int       `json:"n"`
	Dest   int       `json:"dest"`
	Checks []checkOf `json:"checks"`
}

type checkOf struct {
	Op     string `json:"op"`
	Reason string `json:"reason"`
	At     string `json:"at"`
	Lo     int    `json:"lo"`
	N      int    `json:"n"`
}

type drawOf struct {
	Slot      int `json:"slot"`
	Generator int `json:"generator"`
	Words     int `json:"words"`
}

// playsOf are the plays of a function on a device.
type playsOf struct {
	Kept []int64 `json:"kept"` // bytes of what is computed once
	Run  *playOf `json:"run"`
	Once *playOf `json:"once,omitempty"`
}

type playOf struct {
	At    int      `json:"at"`
	Bytes int      `json:"bytes"`
	Args  [][2]int `json:"args"` // [kind, number], see engine.PlayArg
	Vars  []int    `json:"vars"` // numbers of variables

	Constants [][2]int `json:"constants,omitempty"` // [at, bytes] of what is constant, in the file of the plans
}

// MarshalJSON puts the devices beside the other fields.
func (f *function) MarshalJSON() ([]byte, error) {
	type plain function
	b, err := json.Marshal((*plain)(f))
	if err != nil {
		return nil, err
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(b, &all); err != nil {
		return nil, err
	}
	for key, d := range f.devices {
		if all[key], err = json.Marshal(d); err != nil {
			return nil, err
		}
	}
	return json.Marshal(all)
}

func (m *manifest) encode() ([]byte, error) { return json.Marshal(m) }

func (m *manifest) function(name string) *function { return m.Functions[name] }

// variable is the number of a variable among those of the function.
func (f *function) variable(v uop.VarArg) int {
	i := slices.IndexFunc(f.Vars, func(x varOf) bool { return x.Name == v.Name && x.Lo == v.Lo && x.Hi == v.Hi })
	if i < 0 {
		i = len(f.Vars)
		x := varOf{Name: v.Name, Lo: v.Lo, Hi: v.Hi}
		if v.Bound {
			x.Value = &v.Value
		}
		f.Vars = append(f.Vars, x)
	}
	return i
}

func halves(n uint64) [2]uint32 { return [2]uint32{uint32(n), uint32(n >> 32)} }

// newManifest says everything but what devices do.
func newManifest(p *saved.Program, weights []byte) *manifest {
	m := &manifest{Format: format, Version: 1, Devices: map[string]deviceOf{}, Arrays: []arrayOf{}, Generators: []generatorOf{}, Functions: map[string]*function{},
		Weights: fileOf{weightsFile, len(weights), saved.Sum(weights)}}
	at := int64(0)
	for _, a := range p.Arrays {
		n := a.Stored()
		m.Arrays = append(m.Arrays, arrayOf{a.DType.String(), a.N, a.Form.String(), at, n, a.Sum})
		at += n + saved.Padding(n)
	}
	for _, g := range p.Generators {
		m.Generators = append(m.Generators, generatorOf{halves(g.Seed), halves(g.Drawn)})
	}
	for i := range p.Functions {
		m.Functions[p.Functions[i].Name] = newFunction(&p.Functions[i])
	}
	return m
}

func newFunction(f *saved.Function) *function {
	out := &function{Inputs: []inputOf{}, Results: []resultOf{}, Vars: []varOf{}, Arrays: append([]int{}, f.Arrays...), Targets: []targetOf{}, Draws: []drawOf{}, Ran: f.Ran, devices: map[string]playsOf{}}
	for _, in := range f.Inputs {
		out.Inputs = append(out.Inputs, inputOf{in.Name, in.DType.String(), append([]int{}, in.Shape...)})
	}
	for _, t := range f.Targets {
		x := targetOf{DType: t.Value.DType().String(), N: t.Value.Shape().Numel(), Dest: t.Dest, Checks: []checkOf{}}
		for _, c := range t.Checks {
			x.Checks = append(x.Checks, checkOf{c.Arg.Op, c.Arg.Reason, c.Arg.At, c.Arg.Lo, c.Arg.N})
		}
		out.Targets = append(out.Targets, x)
	}
	for _, r := range f.Results {
		x := resultOf{inputOf: inputOf{r.Name, r.DType.String(), append([]int{}, r.Shape...)}, Target: r.Target, Slot: r.Slot}
		for _, s := range r.Sizes {
			y := sizeOf{C: s.C, Terms: [][2]int{}}
			for _, t := range s.Terms {
				if t.K != 0 {
					y.Terms = append(y.Terms, [2]int{t.K, out.variable(t.Var)})
				}
			}
			x.Sizes = append(x.Sizes, y)
		}
		out.Results = append(out.Results, x)
	}
	for _, d := range f.Draws {
		out.Draws = append(out.Draws, drawOf{d.Slot, d.Generator, d.Words})
	}
	return out
}
