package onnxnode

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/onnx"
	"github.com/weft-ml/weft/uop"
)

// same says how a value is other than expected. Of loose ones only types and shapes count.
func same(ctx context.Context, got, want *onnx.Value, tol Tolerance, loose bool) error {
	if got == nil {
		return fmt.Errorf("there is none")
	}
	if got.Kind() != want.Kind() && want.Kind() == onnx.IsOptional && len(want.Items()) == 1 {
		want = want.Items()[0]
	}
	if got.Kind() != want.Kind() {
		return fmt.Errorf("it is %v, not %v", got, want)
	}
	if got.Kind() != onnx.IsTensor {
		if len(got.Items()) != len(want.Items()) {
			return fmt.Errorf("it has %d items, not %d", len(got.Items()), len(want.Items()))
		}
		for i, v := range got.Items() {
			if err := same(ctx, v, want.Items()[i], tol, loose); err != nil {
				return fmt.Errorf("item %d: %w", i, err)
			}
		}
		return nil
	}
	if got.Elem() != want.Elem() || !slices.Equal(got.Shape(), want.Shape()) {
		return fmt.Errorf("it is %v, not %v", got, want)
	}
	if want.Elem() == onnx.String {
		if !slices.Equal(got.Text(), want.Text()) {
			return fmt.Errorf("it is %.300q, not %.300q", got.Text(), want.Text())
		}
		return nil
	}
	g, err := got.Bytes(ctx)
	if err != nil || loose {
		return err
	}
	w, err := want.Bytes(ctx)
	if err != nil {
		return err
	}
	return near(got.Elem().DType(), g, w, tol)
}

func near(d dtype.DType, got, want []byte, tol Tolerance) error {
	if len(got) != len(want) {
		return fmt.Errorf("it has %d bytes, not %d", len(got), len(want))
	}
	if d == dtype.BF16 {
		tol.Rel = max(tol.Rel, tol.BF16)
	}
	bad, first := 0, ""
	size := d.Size()
	for i := 0; i < len(got); i += size {
		g, w := number(d, got[i:i+size]), number(d, want[i:i+size])
		if g == w || g != g && w != w || math.Abs(g-w) <= tol.Abs+tol.Rel*math.Abs(w) {
			continue
		}
		if bad++; bad == 1 {
			first = fmt.Sprintf("element %d is %v, not %v", i/size, g, w)
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d elements are wrong: %s", bad, len(got)/size, first)
	}
	return nil
}

func number(d dtype.DType, b []byte) float64 {
	var all [8]byte
	copy(all[:], b)
	v := uop.FromBits(d, binary.LittleEndian.Uint64(all[:]))
	switch {
	case d.IsFloat():
		return v.Float()
	case d.IsUnsigned():
		return float64(uint64(v))
	}
	return float64(v.Int())
}
