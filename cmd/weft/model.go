package main

import (
	"context"
	"fmt"
	"image"
	_ "image/jpeg" // a format of pictures
	_ "image/png"  // a format of pictures
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/llm"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/onnx"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/weights/formats"
	"github.com/weft-ml/weft/weights/numpy"
)

func showModelCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use: "show FILE", Short: "Print what a model or a file of weights holds", Args: sensible(cobra.ExactArgs(1)),
		Long: `Of an ONNX model: what it takes and gives, its parameters and its operators. Of other files of weights (GGUF, safetensors, an index of
shards, PyTorch's .pt, NumPy's .npz, checkpoints of llama2.c): every tensor with its type and shape, and what is said beside them. Of a GGUF
file or a folder with config.json also the family of language models that it is of, and which of its tensors are not supported.`,
		RunE: func(_ *cobra.Command, args []string) error { return p.showFile(args[0]) },
	}
}

func (p *program) showFile(path string) error {
	if strings.EqualFold(filepath.Ext(path), ".onnx") {
		return p.showModel(path)
	}
	f, err := formats.Open(path)
	if err != nil {
		return fmt.Errorf("%w (a file that ends in .onnx is read as a model)", err)
	}
	defer f.Close()
	if err := formats.Describe(p.out, f); err != nil {
		return err
	}
	about, err := llm.Inspect(path, f)
	if about != nil {
		p.showLanguage(about)
	}
	return err
}

// showLanguage prints what is known of a language model.
func (p *program) showLanguage(a *llm.About) {
	if a.Err != nil {
		fmt.Fprintf(p.out, "language model of the family %.64q, which is not supported: %v\n", a.Family, a.Err)
		return
	}
	c := a.Config
	fmt.Fprintf(p.out, "language model of the family %s: %d layers of %d, %d heads (%d of keys) of %d, a vocabulary of %d, %d positions\n", a.Family, c.Layers, c.Dim, c.Heads,
		c.KVHeads, c.Head, c.Vocab, c.Length)
	for _, list := range []struct {
		what string
		of   []string
	}{{"not supported", a.Wrong}, {"not read, since the family has none such", a.Unread}} {
		const most = 20
		if len(list.of) == 0 {
			continue
		}
		fmt.Fprintf(p.out, "%s, %d tensors:\n", list.what, len(list.of))
		for _, s := range list.of[:min(most, len(list.of))] {
			fmt.Fprintf(p.out, "  %.200s\n", plain(s))
		}
		if n := len(list.of) - most; n > 0 {
			fmt.Fprintf(p.out, "  and %d more\n", n)
		}
	}
	if len(a.Wrong) == 0 {
		fmt.Fprintln(p.out, "all that it needs is there; weft chat and weft serve run it")
	}
}

// plain is a text of a file on one line, without what a terminal would obey.
func plain(s any) string {
	quoted := strconv.Quote(fmt.Sprint(s))
	return strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`)
}

// showModel prints a model; operators that are not known are a result, not a failure.
func (p *program) showModel(path string) error {
	m, missing, err := onnx.Inspect(path)
	if err != nil {
		return err
	}
	info := m.Info()
	fmt.Fprintf(p.out, "%s: ONNX", path)
	if info.Producer != "" {
		fmt.Fprintf(p.out, " by %s", plain(info.Producer))
	}
	for _, o := range info.Opsets {
		fmt.Fprintf(p.out, ", %s %d", plain(o.Domain), o.Version)
	}
	fmt.Fprintf(p.out, "\n%d parameters in %d arrays, %s\n", info.Parameters, info.Arrays, sizeText(info.Bytes))
	for _, port := range m.Inputs() {
		fmt.Fprintf(p.out, "input  %s: %s\n", plain(port.Name), plain(port.Type))
	}
	for _, port := range m.Outputs() {
		fmt.Fprintf(p.out, "output %s: %s\n", plain(port.Name), plain(port.Type))
	}
	ops := m.Ops()
	sort.SliceStable(ops, func(i, j int) bool { return ops[i].Nodes > ops[j].Nodes })
	var list []string
	for _, o := range ops {
		name := o.Name
		if o.Domain != "" {
			name = o.Domain + ":" + name
		}
		list = append(list, fmt.Sprintf("%s %d", plain(name), o.Nodes))
	}
	fmt.Fprintf(p.out, "operators: %s\n", strings.Join(list, ", "))
	if missing != nil {
		fmt.Fprintf(p.out, "not known: %s\n", plain(missing))
	}
	return nil
}

func runModelCommand(p *program) *cobra.Command {
	var inputs []string
	var device string
	c := &cobra.Command{
		Use: "run MODEL.onnx", Short: "Run a model and print its outputs", Args: sensible(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error { return p.runModel(c.Context(), args[0], device, inputs) },
		Long: `Runs a model once and prints its outputs. An input is NAME=PATH, of a picture (PNG or JPEG: channels first, from 0 to 1, resized to what the
model takes) of an array (.npy) or of a TensorProto (.pb), or NAME=1,2,3, numbers.`,
	}
	c.Flags().StringArrayVar(&inputs, "input", nil, "NAME=PATH or NAME=NUMBERS; once for each input")
	deviceFlag(c, &device, "device to run on (default: $DEV, else the best that works)")
	return c
}

func (p *program) runModel(ctx context.Context, path, device string, inputs []string) error {
	m, err := onnx.Open(path)
	if err != nil {
		return err
	}
	if _, err := p.open(ctx, device); err != nil {
		return err
	}
	in := map[string]*onnx.Value{}
	for _, s := range inputs {
		name, from, ok := strings.Cut(s, "=")
		if !ok {
			return usagef("--input %s: it must be NAME=PATH or NAME=NUMBERS", s)
		}
		var port *onnx.Port
		for _, q := range m.Inputs() {
			if q.Name == name {
				port = &q
			}
		}
		if port == nil {
			return usagef("--input %s: the model has no input %q; weft show %s lists them", s, name, path)
		}
		if in[name] != nil {
			return usagef("--input %s: there is a value for %q already", s, name)
		}
		if in[name], err = modelInput(from, port.Type); err != nil {
			return fmt.Errorf("input %s: %w", name, err)
		}
	}
	for _, q := range m.Inputs() {
		if in[q.Name] == nil && !(q.Type != nil && q.Type.Kind == onnx.IsOptional) {
			return usagef("the input %s (%v) is not given: --input %s=…", q.Name, q.Type, q.Name)
		}
	}
	out, err := m.Call(ctx, in)
	if err != nil {
		return err
	}
	for _, port := range m.Outputs() {
		if err := p.printValue(ctx, port.Name, out[port.Name]); err != nil {
			return err
		}
	}
	return nil
}

// printValue prints a value, of a long one its first elements.
func (p *program) printValue(ctx context.Context, name string, v *onnx.Value) error {
	line := fmt.Sprintf("%s: %v", plain(name), v)
	const most = 16
	switch t := v.Tensor(); {
	case len(v.Text()) > 0:
		line += fmt.Sprintf(" %q", v.Text()[:min(most, len(v.Text()))])
	case t != nil && t.Numel() > 0:
		all, err := t.Flatten().Reshape(t.Numel()).Narrow(0, 0, min(most, t.Numel())).ToList(ctx)
		if err != nil {
			return err
		}
		line += fmt.Sprintf(" %v", all)
		if t.Numel() > most {
			line += " …"
		}
	}
	_, err := fmt.Fprintln(p.out, line)
	return err
}

// modelInput reads what was given for an input.
func modelInput(from string, t *onnx.Type) (*onnx.Value, error) {
	switch strings.ToLower(filepath.Ext(from)) {
	case ".png", ".jpg", ".jpeg":
		return pictureInput(from, t)
	case ".npy":
		return arrayInput(from)
	case ".pb":
		b, err := os.ReadFile(from)
		if err != nil {
			return nil, err
		}
		v, err := onnx.ReadValue(b, t)
		if err != nil {
			err = fmt.Errorf("%s: %w", from, err)
		}
		return v, err
	}
	var list []float64
	for _, s := range strings.Split(from, ",") {
		n, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil {
			return nil, usagef("%.80q is neither a picture, nor a .npy or .pb file, nor numbers", from)
		}
		list = append(list, n)
	}
	shape := []int{len(list)}
	if t != nil && t.Ranked {
		if shape = fillShape(t.Dims, len(list)); shape == nil {
			return nil, usagef("%d numbers do not fill %v, or fill it in more than one way; an array (.npy) says its shape", len(list), t)
		}
	}
	x := tensor.Of(list, shape...)
	if t != nil && t.Elem.DType() != dtype.Void {
		x = x.To(t.Elem.DType())
	}
	return onnx.Of(x), nil
}

// arrayInput is an array that NumPy saved.
func arrayInput(path string) (*onnx.Value, error) {
	f, err := numpy.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	x, err := (&nn.Tensors{File: f}).Tensor(f.Names()[0]) // the only one
	if err != nil {
		return nil, err
	}
	return onnx.Of(x), nil
}

// fillShape is the shape of n elements, nil where there is none or not just one. A size that is not known is what is left; of several the first
// axis is 1, as that of a batch is.
func fillShape(dims []onnx.Dim, n int) []int {
	shape, free, have := make([]int, len(dims)), -1, 1
	for i, d := range dims {
		switch {
		case d.Size >= 0:
			shape[i] = d.Size
			have *= d.Size
		case free > 0 && n != 1:
			return nil
		default:
			if free >= 0 {
				shape[free] = 1
			}
			free = i
		}
	}
	if free >= 0 && have > 0 {
		shape[free] = n / have
		have *= shape[free]
	}
	if have != n {
		return nil
	}
	return shape
}

const mostPixels = 1 << 26

// pictureInput is a picture as [1, channels, h, w] from 0 to 1, in the sizes that the model takes where it says so.
func pictureInput(path string, t *onnx.Type) (*onnx.Value, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	conf, _, err := image.DecodeConfig(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if conf.Width < 1 || conf.Height < 1 || conf.Width > mostPixels/conf.Height {
		return nil, fmt.Errorf("%s: a picture of %d by %d", path, conf.Width, conf.Height)
	}
	if _, err := f.Seek(0, 0); err != nil {
		return nil, err
	}
	img, _, err := image.Decode(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if t == nil || len(t.Dims) != 4 || t.Elem != onnx.Float32 {
		return nil, fmt.Errorf("a picture is float32[n, channels, h, w], and the model takes %v", t)
	}
	channels := t.Dims[1].Size
	if channels != 1 {
		channels = 3
	}
	b := img.Bounds()
	h, w := b.Dy(), b.Dx()
	x := make([]float32, channels*h*w)
	for y := range h {
		for i := range w {
			r, g, bl, _ := img.At(b.Min.X+i, b.Min.Y+y).RGBA()
			c := []float32{float32(r) / 0xffff, float32(g) / 0xffff, float32(bl) / 0xffff}
			if channels == 1 {
				c = []float32{0.299*c[0] + 0.587*c[1] + 0.114*c[2]}
			}
			for k, v := range c {
				x[(k*h+y)*w+i] = v
			}
		}
	}
	picture := tensor.Of(x, 1, channels, h, w)
	size := func(d onnx.Dim, n int) int {
		if d.Size > 0 {
			return d.Size
		}
		return n
	}
	if nh, nw := size(t.Dims[2], h), size(t.Dims[3], w); nh != h || nw != w {
		picture = picture.Resize([]int{nh, nw}, tensor.Resize{Mode: tensor.ResizeLinear, Antialias: true})
	}
	return onnx.Of(picture), nil
}
