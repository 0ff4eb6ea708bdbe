package llm

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"github.com/weft-ml/weft/weights"
	"github.com/weft-ml/weft/weights/gguf"
)

// Export is how a model of a folder is written as a GGUF file.
type Export struct {
	Pairs   []gguf.Pair
	Tensors []ExportedTensor
	Left    []string // tensors of the folder that a GGUF file does not have
}

// ExportedTensor is a tensor of such a file.
type ExportedTensor struct {
	From, Name string
	Floats     []float32 // where it is no tensor of the folder
	Turn       bool      // [in, out] becomes [out, in]
	Keep       bool      // programs that read it expect floats
	Then       func(v []float32)
}

// list are the names in the order of their fields.
func (n *names) list() []*string {
	return []*string{&n.embed, &n.positions, &n.norm, &n.out, &n.attentionNorm, &n.qkv, &n.q, &n.k, &n.v, &n.o, &n.qNorm, &n.kNorm, &n.postNorm,
		&n.ffnNorm, &n.gateUp, &n.gate, &n.up, &n.down, &n.ffnPostNorm}
}

// ToGGUF says how the model of a folder, whose weights are f, is written as a GGUF file: names, the order of rows, and the metadata with
// the tokenizer, which is the folder's tokenizer.json as it is.
func ToGGUF(folderPath string, f weights.File) (*Export, error) {
	dir := diskFolder(folderPath)
	raw, err := dir.read("config.json")
	if err != nil {
		return nil, err
	}
	c, err := ParseConfig(raw)
	if err == nil {
		err = c.ends(dir)
	}
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return nil, fmt.Errorf("llm: %s: %w", folderPath, err)
	}
	about := &About{Config: c}
	if about.look(f, hubLayout(c, f)); len(about.Wrong) > 0 {
		return nil, fmt.Errorf("llm: %s: its weights are not what config.json says: %s (weft show lists all)", folderPath, about.Wrong[0])
	}
	e := &Export{}
	if e.Pairs, err = c.pairs(); err != nil {
		return nil, fmt.Errorf("llm: %s: %w", folderPath, err)
	}
	e.Pairs = append(e.Pairs, gguf.Pair{Key: "general.name", Value: filepath.Base(folderPath)})
	if raw, err = dir.read("tokenizer.json"); err != nil {
		return nil, err
	}
	if raw != nil {
		e.Pairs = append(e.Pairs, gguf.Pair{Key: "tokenizer.huggingface.json", Value: string(raw)})
	}
	talk, err := hubTalk(dir, nil)
	if err != nil {
		return nil, err
	}
	if talk.source != "" {
		e.Pairs = append(e.Pairs, gguf.Pair{Key: "tokenizer.chat_template", Value: talk.source})
	}
	e.tensors(&c, f)
	return e, nil
}

// tensors are those of the folder, by their names in a GGUF file.
func (e *Export) tensors(c *Config, f weights.File) {
	kind := c.family()
	r := &loader{f: f, layout: hubLayout(*c, f)}
	taken := map[string]bool{}
	hub, to := kind.hub.list(), kind.gguf.list()
	put := func(place int, from, name string, layer bool) {
		from = r.called(from)
		info, ok := f.Info(from)
		if !ok || taken[from] {
			return
		}
		taken[from] = true
		t := ExportedTensor{From: from, Name: name, Turn: layer && kind.transposed && len(info.Shape) == 2, Keep: *to[place] == kind.gguf.positions}
		switch field := to[place]; {
		case kind.plusOne && len(info.Shape) == 1:
			t.Then = func(v []float32) {
				for i := range v {
					v[i]++
				}
			}
		case kind.neighbours && (field == &kind.gguf.q || field == &kind.gguf.k):
			width := c.Dim
			if len(info.Shape) == 1 { // a bias
				width = 1
			}
			t.Then = func(v []float32) { c.asNeighbours(v, width) }
		}
		e.Tensors = append(e.Tensors, t)
	}
	both := func(place int, from, name string, layer bool) {
		put(place, from, name, layer)
		put(place, biasOf(from), biasOf(name), layer)
	}
	for i := range hub {
		switch {
		case *hub[i] == "" || *to[i] == "" || hub[i] == &kind.hub.out && c.Tied:
		case i < 4:
			both(i, *hub[i], *to[i], false)
		default:
			for l := range c.Layers {
				both(i, fmt.Sprintf(*hub[i], l), fmt.Sprintf(*to[i], l), true)
			}
		}
	}
	for _, x := range []struct {
		name string
		of   []float64
	}{{"rope_factors_long.weight", c.LongFactors}, {map[bool]string{true: "rope_factors_short.weight", false: "rope_freqs.weight"}[c.LongFactors != nil],
		c.RopeFactors}} {
		if x.of == nil || c.linear() && c.LongFactors == nil {
			continue
		}
		t := ExportedTensor{Name: x.name, Keep: true}
		for _, v := range x.of {
			t.Floats = append(t.Floats, float32(v))
		}
		e.Tensors = append(e.Tensors, t)
	}
	for _, name := range f.Names() {
		if !taken[name] {
			e.Left = append(e.Left, name)
		}
	}
}

// linear says that all frequencies are divided by one factor.
func (c *Config) linear() bool {
	return c.RopeFactors != nil && !slices.ContainsFunc(c.RopeFactors, func(x float64) bool { return x != c.RopeFactors[0] })
}

// asNeighbours brings the rows of queries or keys, whose halves of heads are pairs, into the order in which neighbours are.
func (c *Config) asNeighbours(v []float32, width int) {
	head := make([]float32, c.Head*width)
	for at := 0; at < len(v); at += len(head) {
		copy(head, v[at:])
		for i := range c.Head {
			copy(v[at+(i%(c.Head/2)*2+i/(c.Head/2))*width:][:width], head[i*width:])
		}
	}
}

// pairs are the metadata of a GGUF file. What they cannot say is an error.
func (c *Config) pairs() (out []gguf.Pair, err error) {
	kind, name := c.family(), c.Architecture
	plain := Config{Architecture: name, Layers: c.Layers}
	plain.from(kind)
	if c.Window > 0 {
		plain.windows(kind.global)
	}
	plain.stills(kind.still)
	if c.Activation != plain.Activation || !slices.Equal(c.Windowed, plain.Windowed) || !slices.Equal(c.Still, plain.Still) {
		return nil, errors.New("its activation, or which of its layers have a window or positions, is not what its family has: a GGUF file cannot say it")
	}
	if c.RopeScale > 0 && c.LongFactors == nil || kind.neighbours && c.Rotary != c.Head {
		return nil, errors.New("its positions turn in a way that a GGUF file cannot say")
	}
	text := func(key, v string) { out = append(out, gguf.Pair{Key: key, Value: v}) }
	count := func(key string, n int) { out = append(out, gguf.Pair{Key: name + "." + key, Value: uint32(n)}) }
	number := func(key string, x float64) { out = append(out, gguf.Pair{Key: name + "." + key, Value: float32(x)}) }
	text("general.architecture", name)
	count("context_length", c.Length)
	count("embedding_length", c.Dim)
	count("feed_forward_length", c.Hidden)
	count("block_count", c.Layers)
	count("attention.head_count", c.Heads)
	count("attention.head_count_kv", c.KVHeads)
	count("attention.key_length", c.Head)
	count("attention.value_length", c.Head)
	count("vocab_size", c.Vocab)
	eps := "attention.layer_norm_rms_epsilon"
	if kind.layerNorm {
		eps = "attention.layer_norm_epsilon"
	}
	number(eps, c.Eps)
	if !kind.learned {
		count("rope.dimension_count", c.Rotary)
		number("rope.freq_base", c.RopeBase)
	}
	if c.Window > 0 {
		count("attention.sliding_window", c.Window)
	}
	if c.LocalBase > 0 && c.LocalBase != kind.localBase {
		number("rope.freq_base_swa", c.LocalBase)
	}
	if c.AttentionCap > 0 {
		number("attn_logit_softcapping", c.AttentionCap)
	}
	if c.LogitCap > 0 {
		number("final_logit_softcapping", c.LogitCap)
	}
	usual := float64(c.Head)
	if c.Layers == kind.halfDims {
		usual = float64(c.Dim / c.Heads)
	}
	if c.Scale > 0 && math.Abs(c.Scale*math.Sqrt(usual)-1) > 1e-6 {
		number("attention.scale", c.Scale)
	}
	switch {
	case c.LongFactors != nil:
		text(name+".rope.scaling.type", "longrope")
		count("rope.scaling.original_context_length", c.Original)
		number("rope.scaling.attn_factor", c.RopeScale)
	case c.linear():
		text(name+".rope.scaling.type", "linear")
		number("rope.scaling.factor", c.RopeFactors[0])
	}
	for i, id := range c.EOS[:min(2, len(c.EOS))] {
		out = append(out, gguf.Pair{Key: "tokenizer.ggml." + []string{"eos", "eot"}[i] + "_token_id", Value: uint32(id)})
	}
	return out, nil
}
