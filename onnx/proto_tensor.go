package onnx

import (
	"fmt"
	"math"
)

func tensorOf(b []byte) (t *tensorProto, err error) {
	t = &tensorProto{}
	err = walk(b, func(f field) error {
		var n int64
		switch f.number {
		case 1:
			return f.integers(&t.dims)
		case 2:
			err := f.int(&n)
			t.typ = Elem(n)
			return err
		case 3:
			t.segment = true
		case 4:
			return f.fixed(4, &t.floats)
		case 5:
			return f.integers(&t.ints32)
		case 6:
			s, err := f.bytes()
			t.strings = append(t.strings, s)
			return err
		case 7:
			return f.integers(&t.ints64)
		case 8:
			return f.text(&t.name)
		case 9:
			t.hasRaw = true
			t.raw, err = f.bytes()
			return err
		case 10:
			return f.fixed(8, &t.doubles)
		case 11:
			return f.integers(&t.uints64)
		case 13:
			var p [2]string
			if err := within("external data", f, pair, &p); err != nil {
				return err
			}
			if t.external == nil {
				t.external = map[string]string{}
			}
			t.external[p[0]] = p[1]
		case 14:
			err := f.int(&n)
			t.outside = n == 1
			return err
		}
		return nil
	})
	if err == nil {
		_, err = shapeOf(t.dims, t.typ.bits())
	}
	if err != nil {
		return nil, fmt.Errorf("%.80q: %w", t.name, err)
	}
	return t, nil
}

// shapeOf checks the sizes of an array: what it takes, at so many bits an element, must be a number of bytes.
func shapeOf(dims []int64, bits int) ([]int, error) {
	if len(dims) > maxRank {
		return nil, fmt.Errorf("it has %d axes; there may be %d", len(dims), maxRank)
	}
	n, zero := int64(1), false
	shape := make([]int, len(dims))
	for i, d := range dims {
		if d < 0 || d > math.MaxInt32 {
			return nil, fmt.Errorf("its axis %d is of size %d", i, d)
		}
		if shape[i] = int(d); d == 0 {
			zero = true
			continue
		}
		if n > math.MaxInt64/256/d {
			return nil, fmt.Errorf("its sizes %v are more than any memory", dims)
		}
		n *= d
	}
	if !zero && n > math.MaxInt64/8/int64(max(1, bits)) {
		return nil, fmt.Errorf("its sizes %v are more than any memory", dims)
	}
	return shape, nil
}

func sparse(b []byte) (s *sparseProto, err error) {
	s = &sparseProto{}
	err = walk(b, func(f field) error {
		switch f.number {
		case 1:
			return within("values", f, tensorOf, &s.values)
		case 2:
			return within("indices", f, tensorOf, &s.indices)
		case 3:
			return f.integers(&s.dims)
		}
		return nil
	})
	if err == nil && (s.values == nil || s.indices == nil) {
		err = fmt.Errorf("a sparse tensor has no values or no indices")
	}
	return s, err
}
