// Command elements makes five functions and writes them as folders for <weft-model>: a network that reads digits, one that has learnt how a
// pendulum swings, a transformer's layer that has learnt to sort, a pencil made of filters, and a search for what is drawn. The page elements of
// the site shows them.
//
//	go run ./examples/elements -mnist mnist FOLDER
//
// Without files of MNIST the digits are those of package data. The player lies in FOLDER once, for all of them.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/export"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/saved"
	"github.com/weft-ml/weft/tensor"
)

// functions are what is made, by the names of folders.
var functions = map[string]func(ctx context.Context, o options) (*tensor.Captured, error){
	"digits": digits, "pencil": pencil, "pendulum": pendulum, "sort": sorter, "boxes": boxes,
}

// options are where digits come from, and where is told what was learnt.
type options struct {
	mnist string
	out   io.Writer
}

func main() {
	o := options{out: os.Stdout}
	flag.StringVar(&o.mnist, "mnist", "", "folder of MNIST files (default: digits drawn from fonts)")
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	if err := run(context.Background(), flag.Arg(0), o); err != nil {
		fmt.Fprintln(os.Stderr, "elements:", err)
		os.Exit(1)
	}
}

// run writes the folders: of each what the player reads and what Go reads, the player once, and a picture.
func run(ctx context.Context, dir string, o options) error {
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		f, err := made(ctx, functions[name], o)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		to := filepath.Join(dir, name)
		if _, err := export.Write(ctx, to, map[string]*tensor.Captured{name: f}, export.Options{Weights: saved.Half}); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := share(dir, to); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return writePicture(filepath.Join(dir, "still.jpg"))
}

func made(ctx context.Context, f func(context.Context, options) (*tensor.Captured, error), o options) (c *tensor.Captured, err error) {
	failed := tensor.Try(func() { c, err = f(ctx, o) })
	if failed != nil {
		err = failed
	}
	return c, err
}

// share leaves one player in dir, which is the same in all folders but for types of the functions, and the page of none.
func share(dir, folder string) error {
	player := filepath.Join(dir, "player")
	if err := os.MkdirAll(player, 0o777); err != nil {
		return err
	}
	files, err := os.ReadDir(filepath.Join(folder, "player"))
	if err != nil {
		return err
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), "show.") || f.Name() == "model.d.ts" || f.Name() == "icon.svg" {
			continue
		}
		if err := os.Rename(filepath.Join(folder, "player", f.Name()), filepath.Join(player, f.Name())); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(filepath.Join(folder, "player")); err != nil {
		return err
	}
	return os.Remove(filepath.Join(folder, "index.html"))
}

// learn takes steps of training: loss makes the loss of a batch of its own. It says how it went.
func learn(ctx context.Context, o options, name string, model any, steps int, loss func() *tensor.Tensor) error {
	const peak = 4e-3
	opt, err := nn.NewAdamW(ctx, model, nn.AdamOptions{Rate: peak})
	if err != nil {
		return err
	}
	step, err := tensor.Capture(ctx, func(...*tensor.Tensor) []*tensor.Tensor {
		l := loss()
		opt.Update(l)
		return []*tensor.Tensor{l}
	})
	if err != nil {
		return err
	}
	for i := range steps {
		if err := opt.SetRate(ctx, peak*min(1, float64(i+1)/50)*(1-float64(i)/float64(steps))); err != nil {
			return err
		}
		outs, err := step.Run(ctx)
		if err != nil {
			return err
		}
		if last := i == steps-1; !last && i%200 != 0 { // a loss that nobody reads is not waited for
			continue
		}
		l, err := outs[0].Item(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(o.out, "%-9s step %4d  loss %.4f\n", name, i, l)
	}
	return nil
}
