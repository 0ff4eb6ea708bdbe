//go:build models || !js

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"time"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/llm"
	"github.com/weft-ml/weft/llm/chat"
	"github.com/weft-ml/weft/llm/grammar"
	"github.com/weft-ml/weft/onnx"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/tokenizer"
	"github.com/weft-ml/weft/wasm/wire"
)

// Models of others: ONNX, and language models. They are in an engine of their own, models.wasm, which a page loads when it first asks for one.

func init() {
	calls["onnx"] = procedure{run: readONNX}
	calls["onnxRun"] = procedure{run: runONNX}
	calls["llm"] = procedure{run: readLanguage}
	calls["llmBegin"] = procedure{run: beginText}
	calls["llmNext"] = procedure{run: nextToken}
	calls["llmTokens"] = procedure{run: tokensOf}
}

// files takes an object of files by their names.
func (c *call) files() map[string][]byte {
	v := c.next()
	r, ok := v.(wire.Record)
	if !ok {
		c.fail("%s is %s, not files by their names", c.what(), describe(v))
	}
	out := map[string][]byte{}
	for _, f := range r {
		a, ok := f.Value.(wire.Array)
		if !ok {
			c.fail("the file %q is %s", f.Name, describe(f.Value))
		}
		out[f.Name] = a.Data
	}
	return out
}

// folder is files that a page gave along with a model, as a file system.
type folder map[string][]byte

func (f folder) Open(name string) (fs.File, error) {
	b, ok := f[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &given{Reader: bytes.NewReader(b), name: name}, nil
}

// given is an open file of a folder, and what is told of it.
type given struct {
	*bytes.Reader
	name string
}

func (g *given) Stat() (fs.FileInfo, error) { return g, nil }
func (g *given) Close() error               { return nil }
func (g *given) Name() string               { return g.name }
func (g *given) Mode() fs.FileMode          { return 0o444 }
func (g *given) ModTime() time.Time         { return time.Time{} }
func (g *given) IsDir() bool                { return false }
func (g *given) Sys() any                   { return nil }

// graph is an ONNX model of a page, and in which ways it is run, by the numbers that the page gave them.
type graph struct {
	*onnx.Model
	ways map[int]*way
}

func (*graph) end() {}

// way is what a page gives of a model's inputs and asks for of its outputs, again and again.
type way struct {
	inputs  []string // in the order in which tensors are given
	ports   []int    // the inputs' among the model's; nil where it has none of such a name
	takes   int      // inputs of the model
	outputs []output
	forms   []form // of the outputs that become tensors, as the page was told last
	told    bool
}

// output is one that a page asks for: where it is among the model's, and whether as its elements.
type output struct {
	name string
	port int
	read bool
}

// form is what the page knows of an output that is a tensor.
type form struct {
	dtype string
	shape []int
}

func (f form) equal(g form) bool { return f.dtype == g.dtype && slices.Equal(f.shape, g.shape) }

// way makes a way from names: of inputs, of outputs, and of those whose elements are wanted.
func (g *graph) way(inputs, outputs, read []any) (*way, error) {
	ins, outs := g.Inputs(), g.Outputs()
	w := &way{takes: len(ins), ports: []int{}}
	for _, v := range inputs {
		name, _ := v.(string)
		w.inputs = append(w.inputs, name)
		w.ports = append(w.ports, slices.IndexFunc(ins, func(p onnx.Port) bool { return p.Name == name }))
	}
	if slices.Contains(w.ports, -1) {
		w.ports = nil
	}
	for _, v := range outputs {
		name, _ := v.(string)
		port := slices.IndexFunc(outs, func(p onnx.Port) bool { return p.Name == name })
		if port < 0 {
			return nil, fmt.Errorf("the model has no output %q", name)
		}
		w.outputs = append(w.outputs, output{name, port, slices.Contains(read, v)})
	}
	return w, nil
}

// run runs a model with the tensors of a way, and gives all its outputs.
func (g *graph) run(ctx context.Context, w *way, given []*tensor.Tensor) ([]*onnx.Value, error) {
	if w.ports == nil || len(given) != len(w.ports) { // which names what is wrong
		in := map[string]*onnx.Value{}
		for i, t := range given {
			in[w.inputs[i]] = onnx.Of(t)
		}
		_, err := g.Call(ctx, in)
		return nil, err
	}
	args := make([]*onnx.Value, w.takes)
	for i, t := range given {
		args[w.ports[i]] = onnx.Of(t)
	}
	return g.CallInOrder(ctx, args)
}

// readONNX takes a name, the files by their names, among them the model, and gives what it takes and gives.
func readONNX(_ context.Context, c *call) (any, error) {
	name, all := c.text(), c.files()
	m, err := onnx.Read(all[name], onnx.Options{Name: name, External: folder(all)})
	if err != nil {
		return nil, err
	}
	c.server.nets[c.outs[0]] = &graph{Model: m, ways: map[int]*way{}}
	info := m.Info()
	return wire.Record{{Name: "inputs", Value: ports(m.Inputs())}, {Name: "outputs", Value: ports(m.Outputs())},
		{Name: "parameters", Value: float64(info.Parameters)}, {Name: "producer", Value: info.Producer}}, nil
}

// ports are names, types and shapes; an axis without a size is its name, or null.
func ports(list []onnx.Port) []any {
	out := []any{}
	for _, p := range list {
		r := wire.Record{{Name: "name", Value: p.Name}}
		if p.Type != nil && p.Type.Kind == onnx.IsTensor {
			dtype := p.Type.Elem.String()
			if d := p.Type.Elem.DType(); d != 0 {
				dtype = typeName(d)
			}
			r = append(r, wire.Field{Name: "dtype", Value: dtype})
			if p.Type.Ranked {
				shape := []any{}
				for _, d := range p.Type.Dims {
					switch {
					case d.Size >= 0:
						shape = append(shape, d.Size)
					case d.Name != "":
						shape = append(shape, d.Name)
					default:
						shape = append(shape, nil)
					}
				}
				r = append(r, wire.Field{Name: "shape", Value: shape})
			}
		}
		out = append(out, r)
	}
	return out
}

// held is what a page holds under a number.
func held[T network](c *call, what string) T {
	n, ok := c.server.nets[c.ref()].(T)
	if !ok {
		panic(raised{fmt.Errorf("weft: the %s was closed", what)})
	}
	return n
}

// runONNX takes a model, the number of a way, where that is new the names that make it, else an empty list, and tensors. It gives what the outputs that
// become tensors look like, or null where that is what the way gave last, and then for each output null, its elements, or its texts.
func runONNX(ctx context.Context, c *call) (any, error) {
	m := held[*graph](c, "model")
	number, names := c.integer(), c.list()
	if len(names) > 0 {
		lists := &call{server: c.server, ctx: ctx, name: c.name, args: names}
		w, err := m.way(lists.list(), lists.list(), lists.list())
		if err != nil {
			return nil, err
		}
		m.ways[number] = w
	}
	w := m.ways[number]
	if w == nil {
		return nil, fmt.Errorf("weft: there is no way %d of running the model; are models.js and models.wasm of one build?", number)
	}
	got, err := m.run(ctx, w, c.tensors())
	if err != nil {
		return nil, err
	}
	answer, forms := make([]any, 1, 1+len(w.outputs)), make([]form, len(w.outputs))
	parcels := 0 // an answer has one at most
	for i, o := range w.outputs {
		var item any
		switch v := got[o.port]; {
		case v.Kind() == onnx.IsTensor && v.Elem() == onnx.String:
			list := []any{}
			for _, s := range v.Text() {
				list = append(list, s)
			}
			item = list
		case v.Kind() != onnx.IsTensor:
			return nil, fmt.Errorf("the output %q is %v; tensors and texts can be given to a page", o.name, v)
		case o.read:
			if item, err = elementsOf(ctx, v.Tensor(), parcels == 0); err != nil {
				return nil, err
			}
			if _, ok := item.(wire.Parcel); ok {
				parcels++
			}
		default:
			t := v.Tensor()
			c.server.tensors[c.outs[i]] = t
			forms[i] = form{typeName(t.DType()), t.Shape()}
		}
		answer = append(answer, item)
	}
	if !w.told || !slices.EqualFunc(forms, w.forms, form.equal) {
		w.forms, w.told = forms, true
		answer[0] = described(forms)
	}
	c.server.later = m.Ahead
	return answer, nil
}

// elementsOf reads a tensor for the page, perhaps as a parcel.
func elementsOf(ctx context.Context, x *tensor.Tensor, parcel bool) (any, error) {
	if x.DType().IsNarrow() {
		x = x.To(dtype.F32)
	}
	if parcel {
		if data, err := lifted(ctx, x); data != nil || err != nil {
			return data, err
		}
	}
	raw, err := x.Bytes(ctx)
	return wire.Array{Type: typeName(x.DType()), Data: raw}, err
}

// described are forms for the page.
func described(forms []form) []any {
	out := make([]any, len(forms))
	for i, f := range forms {
		if f.dtype != "" {
			out[i] = wire.Record{{Name: "shape", Value: numbers(f.shape)}, {Name: "dtype", Value: f.dtype}}
		}
	}
	return out
}

// language is a language model of a page and the text that it continues.
type language struct {
	model   *llm.Model
	session *llm.Session
	reply   *llm.Reply
	next    []int // tokens that are still to be read
	shift   bool  // when there is no room left, with so many tokens that stay
	keep    int
	total   int // tokens of the prompt
}

func (*language) end() {}

// readLanguage takes the files of a model by their names, and {length, chunk}.
func readLanguage(ctx context.Context, c *call) (any, error) {
	files := c.files()
	o := c.options().only("length", "chunk")
	m, err := llm.FromFiles(ctx, files, llm.Options{Length: o.at("length").integer(0), Chunk: o.at("chunk").integer(0)})
	if err != nil {
		return nil, err
	}
	if m.Tokenizer == nil {
		return nil, errors.New("the model has no tokenizer: give tokenizer.json, or tokenizer.bin, along with it")
	}
	s, err := m.NewSession(ctx)
	if err != nil {
		return nil, err
	}
	c.server.nets[c.outs[0]] = &language{model: m, session: s}
	k := m.Config
	return wire.Record{{Name: "vocab", Value: k.Vocab}, {Name: "length", Value: k.Length}, {Name: "layers", Value: k.Layers}, {Name: "dim", Value: k.Dim},
		{Name: "talks", Value: m.Talks()}}, nil
}

// tokensOf takes a text, and gives its tokens; or tokens, and gives their text.
func tokensOf(_ context.Context, c *call) (any, error) {
	l := held[*language](c, "language model")
	if c.taken < len(c.args) {
		if text, ok := c.args[c.taken].(string); ok {
			ids, err := l.model.Tokenizer.Encode(text, tokenizer.Options{Special: true, Plain: true})
			return numbers(ids), err
		}
	}
	return l.model.Tokenizer.Decode(c.integers()), nil
}

// beginText takes a text to continue, or the messages of a conversation as JSON, and how tokens are chosen. What of its tokens was read
// already is not read again.
func beginText(_ context.Context, c *call) (any, error) {
	l := held[*language](c, "language model")
	text, talk := c.text(), c.truth()
	o := c.options().only("tokens", "temperature", "topK", "topP", "minP", "repetition", "seed", "stop", "schema", "grammar", "shift")
	var ids []int
	var err error
	g := llm.Generation{Shift: o.at("shift").truth(false)}
	if talk {
		ids, g.Keep, err = l.conversation(text, g.Shift)
	} else {
		ids, err = l.model.Tokenizer.Encode(text, tokenizer.Options{Special: true, Plain: true})
	}
	if err != nil {
		return nil, err
	}
	if g.Shift {
		if ids, err = l.model.Shifted(ids, g.Keep); err != nil {
			return nil, err
		}
	}
	if len(ids) > l.model.Config.Length {
		return nil, fmt.Errorf("the prompt has %d tokens; there is room for %d", len(ids), l.model.Config.Length)
	}
	p := &llm.Sampler{Temperature: o.at("temperature").number(0), TopK: o.at("topK").integer(0), TopP: o.at("topP").number(0),
		MinP: o.at("minP").number(0), Repetition: o.at("repetition").number(0), Seed: uint64(o.at("seed").integer(0))}
	g.Tokens, g.Sampler = o.at("tokens").integer(0), p
	if stops, ok := o.r.Get("stop").([]any); ok {
		for _, s := range stops {
			if text, ok := s.(string); ok && text != "" {
				g.Stop = append(g.Stop, text)
			}
		}
	}
	if schema, ok := o.r.Get("schema").(string); ok {
		if g.Grammar, err = grammar.Schema([]byte(schema)); err != nil {
			return nil, err
		}
	}
	if source, ok := o.r.Get("grammar").(string); ok {
		if g.Grammar != nil {
			return nil, errors.New("a text is held to a schema or to a grammar, not to both")
		}
		if g.Grammar, err = grammar.GBNF([]byte(source)); err != nil {
			return nil, err
		}
	}
	if l.reply, err = l.model.NewReply(ids, g); err != nil {
		return nil, err
	}
	l.session.Reset()
	l.next, l.total, l.shift, l.keep = ids, len(ids), g.Shift, g.Keep
	return wire.Record{{Name: "prompt", Value: len(ids)}}, nil
}

// conversation makes tokens of messages, {role, content} each, and says how many stay when there is no room left.
func (l *language) conversation(text string, shift bool) (ids []int, keep int, err error) {
	in := chat.Input{Answer: true}
	if in.Messages, err = chat.Messages([]byte(text)); err != nil {
		return nil, 0, err
	}
	if ids, err = l.model.Prompt(in); err == nil && shift {
		keep, err = l.model.Head(in)
	}
	return ids, keep, err
}

const maxLikely = 50

// nextToken takes how many of the likeliest tokens are told, reads what is to be read, and chooses a token: {text, token, piece, finish, likely}.
// Of a prompt a chunk is read, so that others have their turn; then there is no token.
func nextToken(ctx context.Context, c *call) (any, error) {
	l := held[*language](c, "language model")
	likely := c.integer(0)
	if likely < 0 || likely > maxLikely {
		c.fail("top is %d; it is from 0 to %d", likely, maxLikely)
	}
	if l.reply == nil || l.reply.Finish != "" {
		return nil, errors.New("there is no text under way")
	}
	var err error
	if l.shift {
		if l.next, err = l.session.Shift(l.next, l.keep); err != nil {
			return nil, err
		}
	}
	if l.session.Room() == 0 && len(l.next) > 0 {
		return wire.Record{{Name: "text", Value: l.reply.Cut()}, {Name: "finish", Value: l.reply.Finish}}, nil
	}
	n, err := l.session.Some(ctx, l.next)
	if err != nil {
		return nil, err
	}
	if l.next = l.next[n:]; len(l.next) > 0 {
		return wire.Record{{Name: "read", Value: min(l.session.Position(), l.total)}}, nil
	}
	logits := l.session.Logits()
	text, token, err := l.reply.Next(logits)
	if err != nil {
		return nil, err
	}
	l.next = []int{token}
	return wire.Record{{Name: "text", Value: text}, {Name: "token", Value: token}, {Name: "piece", Value: l.model.Tokenizer.Decode([]int{token})},
		{Name: "finish", Value: l.reply.Finish}, {Name: "likely", Value: l.likeliest(logits, likely)}}, nil
}

// likeliest are the n likeliest tokens: {token, piece, p}.
func (l *language) likeliest(logits []float32, n int) []any {
	out := []any{}
	if n == 0 {
		return out
	}
	most := float64(slices.Max(logits))
	sum := 0.0
	order := make([]int, 0, n+1)
	for i, x := range logits {
		sum += math.Exp(float64(x) - most)
		at, _ := slices.BinarySearchFunc(order, x, func(k int, x float32) int {
			if logits[k] >= x {
				return -1
			}
			return 1
		})
		if at < n {
			order = slices.Insert(order, at, i)[:min(len(order)+1, n)]
		}
	}
	for _, i := range order {
		out = append(out, wire.Record{{Name: "token", Value: i}, {Name: "piece", Value: l.model.Tokenizer.Decode([]int{i})},
			{Name: "p", Value: math.Exp(float64(logits[i])-most) / sum}})
	}
	return out
}
