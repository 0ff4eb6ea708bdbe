package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-ml/weft/data"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/export"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/saved"
	"github.com/weft-ml/weft/tensor"
)

// exportOptions are the flags of weft export.
type exportOptions struct {
	Devices []string
	Weights string
	Device  string
	Model   string
	Batch   int
	Title   string
	Apart   bool
	Only    []string
}

// weightForms are what --weights may be.
var weightForms = map[string]saved.Form{"float32": saved.Exact, "float16": saved.Half, "int8": saved.Bytes}

// exports are functions to export that come with the command.
var exports = map[string]func(ctx context.Context, o exportOptions) (map[string]*tensor.Captured, error){
	"mnist": exportMNIST, "mlp": exportMLP, "transformer-block": exportBlock,
}

func exportCommand(p *program) *cobra.Command {
	var o exportOptions
	names := strings.Join(slices.Sorted(maps.Keys(exports)), ", ")
	c := &cobra.Command{
		Use:   "export FUNCTIONS FOLDER",
		Short: "Write functions as a folder that runs in a page without Go",
		Long: `Writes captured functions as a folder that any static host serves: their kernels as WebAssembly and WGSL, their weights, a small player
in JavaScript, types, and a page that shows them. FUNCTIONS is a file that tensor.SaveFunctions or Captured.Save wrote, or one of
` + names + `, which come with the command: mnist is the network of weft train mnist with a function that reads pictures
and one that trains on them, so that a page can go on with it.`,
		Args: sensible(cobra.ExactArgs(2)),
		RunE: func(c *cobra.Command, args []string) error { return p.export(c.Context(), args[0], args[1], o) },
	}
	f := c.Flags()
	f.StringSliceVar(&o.Devices, "for", nil, "devices of pages: WASM, WEBGPU (default: both)")
	f.StringVar(&o.Weights, "weights", "float32", "how weights that no function assigns are kept: float32, float16, int8")
	deviceFlag(c, &o.Device, "device to read the functions with (default: $DEV, else the best that works)")
	f.StringVar(&o.Model, "model", "", "weights for mnist, a file of weft train mnist --save (default: random ones)")
	f.IntVar(&o.Batch, "batch", 64, "pictures of a step of training, for mnist")
	f.StringSliceVar(&o.Only, "function", nil, "names of the functions to export (default: all)")
	f.BoolVar(&o.Apart, "apart", false, "write the kernels for WASM as a file of their own, for what compiles none at run time, as Cloudflare Workers")
	f.StringVar(&o.Title, "title", "", "title of the page (default: the names of the functions)")
	check(c, func() error {
		if len(o.Devices) == 0 {
			return fmt.Errorf("name one or both of %s", strings.Join(export.Devices(), ", "))
		}
		for _, d := range o.Devices {
			d = strings.ToUpper(d)
			if err := oneOf(&d, export.Devices())(); err != nil {
				return err
			}
		}
		return nil
	}, "for")
	check(c, oneOf(&o.Weights, slices.Sorted(maps.Keys(weightForms))), "weights")
	check(c, between(&o.Batch, 1, 1<<16), "batch")
	return c
}

func (p *program) export(ctx context.Context, what, dir string, o exportOptions) error {
	if o.Model != "" && what != "mnist" {
		return usagef("--model %s: only mnist takes weights; save others with tensor.SaveFunctions", o.Model)
	}
	dev, err := p.open(ctx, o.Device)
	if err != nil {
		return err
	}
	functions, err := exported(ctx, what, dev, o)
	if err != nil {
		return err
	}
	if functions, err = only(functions, o.Only); err != nil {
		return err
	}
	r, err := export.Write(ctx, dir, functions, export.Options{Devices: o.Devices, Weights: weightForms[o.Weights], Title: o.Title, KernelsApart: o.Apart})
	if err != nil {
		return err
	}
	return p.sizes(dir, r)
}

// only gives those functions that are named; all where none is.
func only(functions map[string]*tensor.Captured, names []string) (map[string]*tensor.Captured, error) {
	if len(names) == 0 {
		return functions, nil
	}
	some := map[string]*tensor.Captured{}
	for _, name := range names {
		f, ok := functions[name]
		if !ok {
			return nil, usagef("--function %s: there are %s", name, strings.Join(slices.Sorted(maps.Keys(functions)), ", "))
		}
		some[name] = f
	}
	return some, nil
}

// exported gives the functions that were asked for.
func exported(ctx context.Context, what string, dev *engine.Engine, o exportOptions) (functions map[string]*tensor.Captured, err error) {
	if make := exports[what]; make != nil {
		failed := tensor.Try(func() { functions, err = make(ctx, o) })
		return functions, errors.Join(failed, err)
	}
	f, err := os.Open(what)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("there is neither a file nor a function %s: name a file of tensor.SaveFunctions, or %s", what, strings.Join(slices.Sorted(maps.Keys(exports)), ", "))
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if functions, err = tensor.LoadFunctions(ctx, f, dev.Name()); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return functions, nil
}

// sizes prints a line for each file.
func (p *program) sizes(dir string, r *export.Report) error {
	var all, small, code int
	for _, f := range r.Files {
		b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Name)))
		if err != nil {
			return err
		}
		var z bytes.Buffer
		w, _ := gzip.NewWriterLevel(&z, gzip.BestCompression)
		if _, err := w.Write(b); err != nil {
			return err
		}
		if err := w.Close(); err != nil {
			return err
		}
		all, small = all+len(b), small+z.Len()
		if strings.HasPrefix(f.Name, "player/") && strings.HasSuffix(f.Name, ".js") && f.Name != "player/show.js" {
			code += z.Len()
		}
		if _, err := fmt.Fprintf(p.out, "%9d %9d  %s\n", len(b), z.Len(), f.Name); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(p.out, "%9d %9d  all files; bytes, and bytes with gzip, of which %d are the player\n", all, small, code)
	return err
}

// exportMNIST is the network of weft train mnist, to be asked and to be trained.
func exportMNIST(ctx context.Context, o exportOptions) (map[string]*tensor.Captured, error) {
	const side = 28
	tensor.Seed(1)
	net := newConvnet(side, side)
	if err := nn.Realize(ctx, net); err != nil {
		return nil, err
	}
	if o.Model != "" {
		if err := nn.Load(ctx, o.Model, net); err != nil {
			return nil, err
		}
	}
	opt, err := nn.NewAdam(ctx, net, nn.AdamOptions{Rate: peakRate})
	if err != nil {
		return nil, err
	}
	empty := func(d dtype.DType, shape ...int) *tensor.Tensor { return tensor.Zeros(shape...).To(d) }
	train, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		opt.Rate.Assign(in[2])
		loss := net.Forward(in[0], true).CrossEntropy(in[1])
		opt.Update(loss)
		return []*tensor.Tensor{loss}
	}, empty(dtype.U8, o.Batch, side, side), empty(dtype.U8, o.Batch), empty(dtype.F32))
	if err != nil {
		return nil, err
	}
	predict, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		return []*tensor.Tensor{net.Forward(in[0], false).Softmax(-1)}
	}, empty(dtype.U8, 1, side, side))
	if err != nil {
		return nil, err
	}
	test, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		return []*tensor.Tensor{net.Forward(in[0], false).ArgMax(-1).To(dtype.U8)}
	}, empty(dtype.U8, 100, side, side))
	if err != nil {
		return nil, err
	}
	return map[string]*tensor.Captured{
		"train":   train.Named([]string{"images", "labels", "rate"}, []string{"loss"}),
		"predict": predict.Named([]string{"image"}, []string{"probabilities"}),
		"test":    test.Named([]string{"images"}, []string{"digits"}),
	}, nil
}

// exportMLP is a perceptron of three layers for pictures of 28×28.
func exportMLP(ctx context.Context, _ exportOptions) (map[string]*tensor.Captured, error) {
	tensor.Seed(1)
	net := []*nn.Linear{nn.NewLinear(784, 256), nn.NewLinear(256, 128), nn.NewLinear(128, data.Classes)}
	return exportOne(ctx, net, func(x *tensor.Tensor) *tensor.Tensor {
		return net[2].Forward(net[1].Forward(net[0].Forward(x).ReLU()).ReLU()).Softmax(-1)
	}, "probabilities", 1, 784)
}

// exportBlock is a transformer's block of 128, 4 heads, 512 wide, over 64 tokens.
func exportBlock(ctx context.Context, _ exportOptions) (map[string]*tensor.Captured, error) {
	tensor.Seed(1)
	block := nn.NewTransformerLayer(128, 4, 512, false)
	block.SelfAttention.BatchFirst, block.NormFirst, block.GELU = true, true, true
	return exportOne(ctx, block, func(x *tensor.Tensor) *tensor.Tensor {
		return block.Forward(x, nil, nn.Attending{Causal: true}, nn.Attending{})
	}, "y", 1, 64, 128)
}

// exportOne is a function of one input of a model.
func exportOne(ctx context.Context, model any, f func(x *tensor.Tensor) *tensor.Tensor, result string, shape ...int) (map[string]*tensor.Captured, error) {
	if err := nn.Realize(ctx, model); err != nil {
		return nil, err
	}
	c, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{f(in[0])} }, tensor.Zeros(shape...))
	if err != nil {
		return nil, err
	}
	return map[string]*tensor.Captured{"predict": c.Named([]string{"x"}, []string{result})}, nil
}
