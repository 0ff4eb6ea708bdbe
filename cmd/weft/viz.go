package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/viz"
)

func vizCommand(p *program) *cobra.Command {
	var port int
	var device string
	c := &cobra.Command{
		Use: "viz FILE", Short: "Show in a browser how a program becomes kernels", Args: sensible(cobra.ExactArgs(1)),
		Long: `FILE holds functions of tensor.SaveFunctions, or plans that the page of VIZ=1 saved as plans.json. The page shows graphs, kernels, and every law that
was applied on the way, step by step. It is served on this machine alone, until interrupted.

Of one's own program: defer viz.Open()() in main (package viz), and VIZ=1 in the environment.`,
		RunE: func(c *cobra.Command, args []string) error { return p.viz(c.Context(), args[0], device, port) },
	}
	c.Flags().IntVar(&port, "port", 0, "port on this machine; 0 takes a free one")
	check(c, between(&port, 0, 65535), "port")
	deviceFlag(c, &device, "device to compile saved functions for; without it the one of DEV, or the fastest")
	return c
}

func (p *program) viz(ctx context.Context, path, device string, port int) error {
	of, err := p.plansOf(ctx, path, device)
	if err != nil {
		return err
	}
	l, err := viz.Listen(port)
	if err != nil {
		return fmt.Errorf("%w; choose another port: --port=…", err)
	}
	titles, _ := of.Titles()
	fmt.Fprintf(p.out, "%d plans of %s are shown at http://%s/ until interrupted (Ctrl-C).\n", len(titles), path, l.Addr())
	if err := viz.Serve(ctx, l, of); err != nil {
		return err
	}
	return ctx.Err()
}

// plansOf reads a dump, or compiles saved functions and records how.
func (p *program) plansOf(ctx context.Context, path, device string) (viz.Source, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	start := make([]byte, 64)
	n, _ := f.Read(start)
	if _, err := f.Seek(0, 0); err != nil {
		return nil, err
	}
	if strings.HasPrefix(strings.TrimSpace(string(start[:n])), "{") {
		d, err := viz.Read(f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return d, nil
	}
	dev, err := p.open(ctx, device)
	if err != nil {
		return nil, err
	}
	r := viz.NewRecorder()
	defer r.Stop()
	if _, err := tensor.LoadFunctions(ctx, f, dev.Name()); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if titles, _ := r.Titles(); len(titles) == 0 {
		return nil, errors.New(path + ": its functions need no plan")
	}
	return r, nil
}
