// Command clusters finds groups of points without being told of any (k-means, Lloyd 1982) and draws them along the two directions in
// which they differ most (principal components, by a singular value decomposition).
//
//	go run ./examples/gallery/clusters
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

const (
	groups, each, dims = 3, 100, 8
	points             = groups * each
	rounds             = 20
)

// found is what the program found out.
type found struct {
	Group    []int32   // of each point
	Share    []float64 // of the variance along each principal component
	Distance float64   // mean square, of points from their centre
}

func main() {
	if _, err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) (r found, err error) {
	err = tensor.Try(func() { r = tensor.Must(search(ctx, out)) })
	return r, err
}

func search(ctx context.Context, out io.Writer) (r found, err error) {
	tensor.Seed(7)
	middles := tensor.Randn(groups, 1, dims).Mul(3)
	x := middles.Add(tensor.Randn(groups, each, dims)).Reshape(points, dims)
	if err := tensor.Realize(ctx, x); err != nil {
		return r, err
	}
	group, distance, err := kMeans(ctx, x)
	if err != nil {
		return r, err
	}
	places, share := components(x)
	if r.Group, err = tensor.Data[int32](ctx, group); err != nil {
		return r, err
	}
	if r.Share, err = tensor.Data[float64](ctx, share.To(dtype.F64)); err != nil {
		return r, err
	}
	if r.Distance, err = distance.Item(ctx); err != nil {
		return r, err
	}
	at, err := tensor.Data[float32](ctx, places)
	if err != nil {
		return r, err
	}
	draw(out, at, r.Group)
	fmt.Fprintf(out, "mean square distance from the centre of a group: %.2f; two directions hold %.0f %% of the variance\n",
		r.Distance, 100*(r.Share[0]+r.Share[1]))
	return r, nil
}

// kMeans gives the number of each point's group, and the mean square of the distances from the centres. Captured, a round is one
// list of kernels that is played again and again.
func kMeans(ctx context.Context, x *tensor.Tensor) (group, distance *tensor.Tensor, err error) {
	centres := farApart(x)
	step, err := tensor.Capture(ctx, func(in ...*tensor.Tensor) []*tensor.Tensor {
		d := x.Unsqueeze(1).Sub(in[0].Unsqueeze(0)).Square().Sum(2) // [points, groups]
		nearest := d.ArgMin(1)
		member := nearest.Unsqueeze(1).Eq(tensor.Arange(groups)).To(dtype.F32)
		count := member.Sum(0).Maximum(1).Unsqueeze(1)
		return []*tensor.Tensor{member.T().MatMul(x).Div(count), nearest.To(dtype.I32), d.Min(1).Mean()}
	}, centres)
	if err != nil {
		return nil, nil, err
	}
	for range rounds {
		outs, err := step.Run(ctx, centres)
		if err != nil {
			return nil, nil, err
		}
		centres, group, distance = outs[0], outs[1], outs[2]
	}
	return group, distance, nil
}

// farApart takes the first point, and then always the one that is farthest from those it has.
func farApart(x *tensor.Tensor) *tensor.Tensor {
	chosen := []*tensor.Tensor{x.Select(0, 0)}
	for len(chosen) < groups {
		far := x.Unsqueeze(1).Sub(tensor.Stack(0, chosen...)).Square().Sum(2).Min(1).ArgMax()
		chosen = append(chosen, x.At(far))
	}
	return tensor.Stack(0, chosen...)
}

// components gives the points along the two principal components, and each component's share of the variance.
func components(x *tensor.Tensor) (places, share *tensor.Tensor) {
	x = x.Sub(x.Mean(0))
	_, s, vt := x.SVD(false)
	return x.MatMul(vt.Narrow(0, 0, 2).T()), s.Square().Div(s.Square().Sum())
}

// draw prints the points as letters.
func draw(out io.Writer, at []float32, group []int32) {
	const w, h = 72, 20
	var lo, hi [2]float32
	for i, v := range at {
		lo[i%2], hi[i%2] = min(lo[i%2], v), max(hi[i%2], v)
	}
	lines := make([][]byte, h)
	for i := range lines {
		lines[i] = []byte(strings.Repeat(" ", w))
	}
	for i, g := range group {
		place := func(k, n int) int { return int((at[2*i+k] - lo[k]) / (hi[k] - lo[k]) * float32(n-1)) }
		lines[place(1, h)][place(0, w)] = "abc"[g]
	}
	for _, l := range lines {
		fmt.Fprintf(out, "%s\n", strings.TrimRight(string(l), " "))
	}
}
