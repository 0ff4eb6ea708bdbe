package folder

import (
	"image"
	"image/color"
	"math"
)

// planes are the pixels of a picture, colour by colour, transparency dropped.
func planes(im image.Image, grey bool) []byte {
	b := im.Bounds()
	n := b.Dx() * b.Dy()
	channels := 3
	if grey {
		channels = 1
	}
	out := make([]byte, channels*n)
	i := 0
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			c := color.NRGBAModel.Convert(im.At(x, y)).(color.NRGBA)
			if c.A = 255; grey {
				out[i] = color.GrayModel.Convert(c).(color.Gray).Y
			} else {
				out[i], out[n+i], out[2*n+i] = c.R, c.G, c.B
			}
			i++
		}
	}
	return out
}

// scaled changes the size of planes; each new pixel is the mean of what it covers, parts of pixels in proportion.
func scaled(in []byte, c, h, w, toH, toW int) []byte {
	if h == toH && w == toW {
		return in
	}
	rows, columns := covers(h, toH), covers(w, toW)
	out := make([]byte, 0, c*toH*toW)
	for k := range c {
		plane := in[k*h*w : (k+1)*h*w]
		for _, r := range rows {
			for _, q := range columns {
				sum := 0.0
				for i, a := range r.share {
					for j, b := range q.share {
						sum += a * b * float64(plane[(r.first+i)*w+q.first+j])
					}
				}
				out = append(out, byte(math.Min(255, math.Round(sum))))
			}
		}
	}
	return out
}

// cover is which old pixels a new one covers, and the share of each.
type cover struct {
	first int
	share []float64
}

func covers(n, to int) []cover {
	out := make([]cover, to)
	width := float64(n) / float64(to)
	for i := range out {
		lo, hi := float64(i)*width, float64(i+1)*width
		c := cover{first: min(int(lo), n-1)}
		for k := c.first; k < n && (float64(k) < hi-1e-9 || k == c.first); k++ {
			c.share = append(c.share, (math.Min(hi, float64(k+1))-math.Max(lo, float64(k)))/width)
		}
		out[i] = c
	}
	return out
}
