package llm

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/weights"
	"github.com/weft-ml/weft/weights/gguf"
)

// About is what the files of a language model say of it, without its weights.
type About struct {
	Family string // as GGUF files or config.json call it
	Config Config // where Err is nil
	Err    error  // why the model is not known; nil: it is
	Wrong  []string
	Unread []string // tensors that the family does not have: nothing reads them
}

// Inspect looks at weights that were opened at a path, a GGUF file or a folder with config.json; nil: they are no language model. Wrong are the
// tensors that are missing, of another shape than the configuration says, or of elements that are not known, each with the reason.
func Inspect(path string, f weights.File) (*About, error) {
	if u, ok := f.(interface{ Packed() *gguf.File }); ok {
		g := u.Packed()
		a := &About{}
		if a.Family, _ = g.Text("general.architecture"); a.Family == "" {
			return nil, nil
		}
		if a.Config, a.Err = ggufConfig(g); a.Err == nil {
			a.look(f, layout{names: a.Config.family().gguf}, "rope_freqs.weight", "rope_factors_short.weight", "rope_factors_long.weight")
		}
		return a, nil
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil, err
	}
	raw, err := diskFolder(path).read("config.json")
	if raw == nil || err != nil {
		return nil, err
	}
	var named struct {
		Type string `json:"model_type"`
	}
	if err := json.Unmarshal(raw, &named); err != nil {
		return nil, fmt.Errorf("llm: %s: %w", diskFolder(path).at("config.json"), err)
	}
	a := &About{Family: named.Type}
	if a.Config, a.Err = ParseConfig(raw); a.Err == nil {
		a.look(f, hubLayout(a.Config, f))
	}
	return a, nil
}

// look goes over the tensors that a model of the configuration has; others are those of the configuration itself.
func (a *About) look(f weights.File, n layout, others ...string) {
	if a.Err = a.Config.check(); a.Err != nil {
		return
	}
	r := &loader{f: f, layout: n, about: a, asked: map[string]bool{}}
	(&Model{Config: a.Config}).weights(r, func() error { return nil })
	for _, name := range f.Names() {
		if !r.asked[name] && !slices.Contains(others, name) {
			a.Unread = append(a.Unread, name)
		}
	}
}

// looked is a tensor of a shape in place of the file's, whose faults are noted.
func (r *loader) looked(name string, shape []int) *tensor.Tensor {
	out := tensor.Zeros(shape...)
	r.loaded = append(r.loaded, out)
	wrong := func(format string, args ...any) {
		if !r.asked[name] {
			r.about.Wrong = append(r.about.Wrong, name+": "+fmt.Sprintf(format, args...))
		}
	}
	defer func() { r.asked[name] = true }()
	info, ok := r.f.Info(name)
	same := len(info.Shape) == len(shape)
	for i := 0; same && i < len(shape); i++ {
		same = info.Shape[i] == int64(shape[i])
	}
	if !ok {
		wrong("missing")
		return out
	}
	if !same {
		wrong("its shape is %v, the configuration says %v", info.Shape, shape)
		return out
	}
	if t, err := (&nn.Tensors{File: r.f}).Lazy(name); err != nil || !t.IsFloat() {
		wrong("its elements are %s, not floats", info.DType)
	}
	return out
}
