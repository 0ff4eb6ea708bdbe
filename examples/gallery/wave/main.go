// Command wave lets a drop fall into a square basin and follows the wave: the wave equation on a grid, leapfrog in time (Courant,
// Friedrichs and Lewy 1928), with a captured step that reads and assigns the two states it goes on from.
//
//	go run ./examples/gallery/wave
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/tensor"
)

const (
	side    = 96
	steps   = 120
	courant = 0.5 // cells that a wave travels in a step; over √½ the method is unstable
)

// seen is what the program saw.
type seen struct {
	Height []float32 // of the water, [side, side]
	Energy []float64 // after each 20 steps
}

func main() {
	if _, err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) (r seen, err error) {
	err = tensor.Try(func() { r = tensor.Must(follow(ctx, out)) })
	return r, err
}

func follow(ctx context.Context, out io.Writer) (r seen, err error) {
	now := drop().Own()
	before := now.Contiguous().Own() // at rest
	if err := tensor.Realize(ctx, now, before); err != nil {
		return r, err
	}
	step, err := tensor.Capture(ctx, func(...*tensor.Tensor) []*tensor.Tensor {
		next := now.Mul(2).Sub(before).Add(laplace(now).Mul(courant * courant))
		energy := energy(next, now)
		before.Assign(now)
		now.Assign(next)
		return []*tensor.Tensor{energy}
	})
	if err != nil {
		return r, err
	}
	for i := range steps {
		outs, err := step.Run(ctx)
		if err != nil {
			return r, err
		}
		if (i+1)%20 == 0 {
			e, err := outs[0].Item(ctx)
			if err != nil {
				return r, err
			}
			r.Energy = append(r.Energy, e)
		}
	}
	if r.Height, err = tensor.Data[float32](ctx, now); err != nil {
		return r, err
	}
	draw(out, r.Height)
	fmt.Fprintf(out, "energy %.4f at the start and %.4f after %d steps\n", r.Energy[0], r.Energy[len(r.Energy)-1], steps)
	return r, nil
}

// drop is a hill in the middle.
func drop() *tensor.Tensor {
	x := tensor.Linspace(-1, 1, side)
	return x.Square().Unsqueeze(1).Add(x.Square()).Mul(-60).Exp()
}

// laplace is the sum of the differences from the four neighbours. At the walls the water is reflected: beyond them it stands as high as
// before them.
func laplace(u *tensor.Tensor) *tensor.Tensor {
	p := u.PadMode(tensor.Replicate, []int{1, 1}, []int{1, 1})
	at := func(y, x int) *tensor.Tensor { return p.Narrow(0, y, side).Narrow(1, x, side) }
	return at(0, 1).Add(at(2, 1)).Add(at(1, 0)).Add(at(1, 2)).Sub(u.Mul(4))
}

// energy is what leapfrog keeps: kinetic energy, and the potential energy between two steps.
func energy(next, now *tensor.Tensor) *tensor.Tensor {
	along := func(axis int) *tensor.Tensor {
		d := func(u *tensor.Tensor) *tensor.Tensor { return u.Narrow(axis, 1, side-1).Sub(u.Narrow(axis, 0, side-1)) }
		return d(next).Mul(d(now)).Sum()
	}
	return next.Sub(now).Square().Sum().Add(along(0).Add(along(1)).Mul(courant * courant)).Mul(0.5)
}

// draw prints each second row, and of these each cell.
func draw(out io.Writer, height []float32) {
	const shades = " .:-=+*#%@"
	most := float32(0)
	for _, h := range height {
		most = max(most, h, -h)
	}
	for y := 0; y < side; y += 2 {
		line := make([]byte, side)
		for x := range side {
			line[x] = shades[int((height[y*side+x]/most+1)/2*float32(len(shades)-1)+0.5)]
		}
		fmt.Fprintf(out, "%s\n", line)
	}
}
