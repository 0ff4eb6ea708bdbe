package torchops

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// matrices is a batch of m×n matrices, row-major, as float64.
type matrices struct {
	batch, m, n int
	v           []float64
}

func asMatrices(a array) (matrices, error) {
	k := len(a.shape)
	if k < 2 {
		return matrices{}, fmt.Errorf("shape %v is no matrix", a.shape)
	}
	x := matrices{1, a.shape[k-2], a.shape[k-1], a.floats()}
	for _, d := range a.shape[:k-2] {
		x.batch *= d
	}
	return x, nil
}

func (x matrices) at(b, i, j int) float64 { return x.v[(b*x.m+i)*x.n+j] }

// check tests one property of a decomposition; in is the decomposed input.
func check(name string, in array, got, want []array, r rule) error {
	parts := strings.Split(name, ":")
	if parts[0] == "reconstruct" && len(parts) == 2 {
		return reconstruct(parts[1], in, got, r)
	}
	if len(parts) < 2 {
		return fmt.Errorf("unknown check %q", name)
	}
	i, err := strconv.Atoi(parts[1])
	if err != nil || i >= len(got) {
		return fmt.Errorf("unknown check %q", name)
	}
	tol := tolerance(in, r)
	switch parts[0] {
	case "orthonormal":
		return orthonormal(got[i], len(parts) > 2 && parts[2] == "rows", tol)
	case "upper":
		return upper(got[i], tol)
	case "values":
		return values(got[i].floats(), want[i].floats(), r)
	case "absdiag":
		g, err := absDiagonal(got[i])
		if err != nil {
			return err
		}
		w, err := absDiagonal(want[i])
		if err != nil {
			return err
		}
		return values(g, w, r)
	}
	return fmt.Errorf("unknown check %q", name)
}

// tolerance is rtol·max|A| + atol.
func tolerance(in array, r rule) float64 { return r.rtol*maxAbs(in.floats()) + r.atol }

func maxAbs(v []float64) float64 {
	m := 0.0
	for _, x := range v {
		m = math.Max(m, math.Abs(x))
	}
	return m
}

func reconstruct(kind string, in array, got []array, r rule) error {
	a, err := asMatrices(in)
	if err != nil {
		return err
	}
	k := min(a.m, a.n)
	var left, right func(b, i, l int) float64 // right(b, l, j)
	diag := func(b, l int) float64 { return 1 }
	if len(got) < 2 {
		return fmt.Errorf("%d outputs for %s", len(got), kind)
	}
	switch kind {
	case "qr":
		q, err := asMatrices(got[0])
		if err != nil {
			return err
		}
		s, err := asMatrices(got[1])
		if err != nil {
			return err
		}
		left, right, k = q.at, s.at, q.n
	case "svd":
		u, err := asMatrices(got[0])
		if err != nil {
			return err
		}
		vh, err := asMatrices(got[2])
		if err != nil {
			return err
		}
		s := got[1].floats()
		left, right, diag = u.at, vh.at, func(b, l int) float64 { return s[b*k+l] }
	case "eigh":
		u, err := asMatrices(got[1])
		if err != nil {
			return err
		}
		w := got[0].floats()
		left, right = u.at, func(b, l, j int) float64 { return u.at(b, j, l) }
		diag = func(b, l int) float64 { return w[b*k+l] }
	default:
		return fmt.Errorf("unknown check reconstruct:%s", kind)
	}
	tol := tolerance(in, r)
	for b := range a.batch {
		for i := range a.m {
			for j := range a.n {
				sum := 0.0
				for l := range k {
					sum += left(b, i, l) * diag(b, l) * right(b, l, j)
				}
				if !(math.Abs(sum-a.at(b, i, j)) <= tol) {
					return fmt.Errorf("the parts give %g at [%d %d %d], the input is %g (tolerance %g)", sum, b, i, j, a.at(b, i, j), tol)
				}
			}
		}
	}
	return nil
}

func orthonormal(u array, rows bool, tol float64) error {
	x, err := asMatrices(u)
	if err != nil {
		return err
	}
	count, length, at := x.n, x.m, func(b, i, c int) float64 { return x.at(b, i, c) }
	if rows {
		count, length, at = x.m, x.n, func(b, i, c int) float64 { return x.at(b, c, i) }
	}
	for b := range x.batch {
		for c := range count {
			for d := range count {
				sum, want := 0.0, 0.0
				for i := range length {
					sum += at(b, i, c) * at(b, i, d)
				}
				if c == d {
					want = 1
				}
				if !(math.Abs(sum-want) <= tol) {
					return fmt.Errorf("product of vectors %d and %d is %g (tolerance %g)", c, d, sum, tol)
				}
			}
		}
	}
	return nil
}

func upper(a array, tol float64) error {
	x, err := asMatrices(a)
	if err != nil {
		return err
	}
	for b := range x.batch {
		for i := range x.m {
			for j := range min(i, x.n) {
				if !(math.Abs(x.at(b, i, j)) <= tol) {
					return fmt.Errorf("%g below the diagonal at [%d %d %d]", x.at(b, i, j), b, i, j)
				}
			}
		}
	}
	return nil
}

// values compares with atol raised to atol + rtol·max|want|.
func values(got, want []float64, r rule) error {
	r.atol += r.rtol * maxAbs(want)
	for i := range want {
		if !r.closeTo(got[i], want[i]) {
			return fmt.Errorf("value %d is %g, want %g", i, got[i], want[i])
		}
	}
	return nil
}

func absDiagonal(a array) ([]float64, error) {
	x, err := asMatrices(a)
	if err != nil {
		return nil, err
	}
	var out []float64
	for b := range x.batch {
		for i := range min(x.m, x.n) {
			out = append(out, math.Abs(x.at(b, i, i)))
		}
	}
	return out, nil
}
