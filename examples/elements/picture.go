package main

import (
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"os"
)

type vector [3]float64

func (a vector) dot(b vector) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }
func (a vector) plus(b vector, k float64) vector {
	return vector{a[0] + k*b[0], a[1] + k*b[1], a[2] + k*b[2]}
}
func (a vector) unit() vector { return vector{}.plus(a, 1/math.Sqrt(a.dot(a))) }

type ball struct {
	at     vector
	r      float64
	colour vector
}

var balls = []ball{
	{vector{-0.95, 0.62, 3.6}, 0.62, vector{0.75, 0.27, 0.2}}, {vector{0.35, 0.85, 4.4}, 0.85, vector{0.22, 0.36, 0.66}},
	{vector{0.95, 0.38, 3.05}, 0.38, vector{0.86, 0.66, 0.24}}, {vector{-0.2, 0.26, 2.75}, 0.26, vector{0.2, 0.5, 0.42}},
}

var lamp = vector{-0.5, 0.8, -0.45}.unit()

// hit gives how far a ray goes to the first ball, and which: -1 for none.
func hit(from, to vector) (far float64, which int) {
	far, which = math.Inf(1), -1
	for i, b := range balls {
		d := from.plus(b.at, -1)
		half := d.dot(to)
		under := half*half - d.dot(d) + b.r*b.r
		if t := -half - math.Sqrt(under); under > 0 && t > 1e-4 && t < far {
			far, which = t, i
		}
	}
	return far, which
}

// seen is the colour that a ray meets: balls on a chequered floor, under one lamp.
func seen(from, to vector, depth int) vector {
	far, which := hit(from, to)
	var at, normal, colour vector
	shine := 0.0
	switch {
	case which >= 0:
		at = from.plus(to, far)
		normal, colour, shine = at.plus(balls[which].at, -1).unit(), balls[which].colour, 0.18
	case to[1] < -1e-3 && -from[1]/to[1] < 14:
		at, normal = from.plus(to, -from[1]/to[1]), vector{0, 1, 0}
		colour = vector{0.82, 0.78, 0.7}
		if (int(math.Floor(at[0]*1.4))+int(math.Floor(at[2]*1.4)))%2 != 0 {
			colour = vector{0.5, 0.46, 0.42}
		}
	default:
		return vector{0.8, 0.84, 0.88}.plus(vector{-0.25, -0.18, -0.1}, math.Max(0, to[1]))
	}
	light := 0.3
	if _, shade := hit(at, lamp); shade < 0 {
		light += 0.75 * math.Max(0, normal.dot(lamp))
	}
	out := vector{}.plus(colour, light)
	if shine > 0 && depth > 0 {
		out = vector{}.plus(out, 1-shine).plus(seen(at, to.plus(normal, -2*to.dot(normal)).unit(), depth-1), shine)
	}
	return out
}

// writePicture writes a still life for the pencil to begin with.
func writePicture(path string) error {
	const high, wide, fine = 384, 512, 3
	m := image.NewRGBA(image.Rect(0, 0, wide, high))
	for y := range high {
		for x := range wide {
			var sum vector
			for s := range fine * fine {
				u := (float64(x) + (float64(s%fine)+0.5)/fine) / wide * 2
				v := (float64(y) + (float64(s/fine)+0.5)/fine) / high * 2
				sum = sum.plus(seen(vector{0, 1.15, -0.6}, vector{(u - 1) * 0.62, (1-v)*0.465 - 0.16, 1}.unit(), 2), 1.0/(fine*fine))
			}
			part := func(v float64) uint8 { return uint8(255*math.Min(1, math.Max(0, v)) + 0.5) }
			m.SetRGBA(x, y, color.RGBA{part(sum[0]), part(sum[1]), part(sum[2]), 255})
		}
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := jpeg.Encode(f, m, &jpeg.Options{Quality: 88}); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
