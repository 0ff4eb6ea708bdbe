package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/weft-ml/weft/llm"
	"github.com/weft-ml/weft/weights"
	"github.com/weft-ml/weft/weights/convert"
	"github.com/weft-ml/weft/weights/formats"
	"github.com/weft-ml/weft/weights/gguf"
)

func convertCommand(p *program) *cobra.Command {
	var to string
	c := &cobra.Command{
		Use:   "convert IN OUT",
		Short: "Write weights in another format or with fewer bits",
		Long: `Reads weights of any format (GGUF, safetensors, an index of shards, PyTorch's .pt, NumPy's .npz) and writes OUT, a .gguf or a .safetensors
file, in one step. --to says as what tensors of floats are written: ` + strings.ToLower(strings.Join(convert.Types(), ", ")) + `; packed ones are for GGUF files.
Vectors stay in float32 there, and matrices whose rows are not whole blocks become f16. For each tensor the error is printed: the root
of the mean square of the difference, as a share of that of the tensor. What was written is read back and compared.

A folder with config.json and a language model (of the families ` + families + `) becomes a GGUF file with its names, its metadata,
and its tokenizer.json as a whole. Of other files names stay as they are.`,
		Args: sensible(cobra.ExactArgs(2)),
		RunE: func(c *cobra.Command, args []string) error {
			return p.convert(c.Context(), args[0], args[1], strings.ToUpper(to))
		},
	}
	c.Flags().StringVar(&to, "to", "", "type of the tensors (default: as they are)")
	return c
}

func (p *program) convert(ctx context.Context, in, out, to string) error {
	if err := convert.Check(out, to); err != nil {
		return usageError{err}
	}
	f, err := formats.Open(in)
	if err != nil {
		return err
	}
	defer f.Close()
	o := convert.Options{To: to}
	tensors := convert.Of(f)
	toGGUF := strings.EqualFold(filepath.Ext(out), ".gguf")
	u, isGGUF := f.(interface{ Packed() *gguf.File })
	_, noConfig := os.Stat(filepath.Join(in, "config.json"))
	switch {
	case toGGUF && isGGUF:
		if o.Pairs, err = u.Packed().Pairs(); err != nil {
			return err
		}
	case toGGUF && noConfig == nil:
		e, err := llm.ToGGUF(in, f)
		if err != nil {
			return err
		}
		if len(e.Left) > 0 {
			fmt.Fprintf(p.log, "left out, as such a file does not have them: %s\n", plain(strings.Join(e.Left, ", ")))
		}
		o.Pairs, tensors = e.Pairs, ofFolder(e, f)
	case !toGGUF:
		if o.Metadata = f.Metadata(); isGGUF { // lists are only counted there
			o.Metadata = nil
		}
	}
	lines, err := convert.Write(ctx, out, tensors, o)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	var bytes int64
	for _, l := range lines {
		fmt.Fprintf(w, "%s\t%v\t%s → %s\t%d bytes\terror %.3g, at most %.3g\n", plain(l.Name), l.Shape, l.From, l.To, l.Bytes, l.Error, l.Most)
		bytes += l.Bytes
	}
	fmt.Fprintf(w, "%d tensors, %s\n", len(lines), sizeText(bytes))
	return w.Flush()
}

// ofFolder are the tensors of a language model's folder as a GGUF file has them.
func ofFolder(e *llm.Export, f weights.File) (out []convert.Tensor) {
	for _, t := range e.Tensors {
		c := convert.Tensor{Name: t.Name, Turn: t.Turn, Keep: t.Keep, Then: t.Then, From: "F32", Shape: []int64{int64(len(t.Floats))}}
		if t.From == "" {
			c.Data = func() (raw []byte, err error) {
				for _, x := range t.Floats {
					raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
				}
				return raw, nil
			}
			out = append(out, c)
			continue
		}
		info, _ := f.Info(t.From)
		c.From, c.Shape = info.DType, info.Shape
		if t.Turn {
			c.Shape = []int64{info.Shape[1], info.Shape[0]}
		}
		c.Data = func() ([]byte, error) { return weights.Bytes(f, t.From) }
		out = append(out, c)
	}
	return out
}
