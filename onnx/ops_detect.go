package onnx

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// nonMaxSuppression picks the best boxes that do not overlap. How many there are only values tell, so it is computed in the program.
func nonMaxSuppression(c *call) []*Value {
	boxes, scores := c.array(0), c.array(1)
	if len(boxes.shape) != 3 || len(scores.shape) != 3 || boxes.shape[2] != 4 || scores.shape[2] != boxes.shape[1] || scores.shape[0] != boxes.shape[0] {
		c.fail("boxes %v and scores %v", boxes, scores)
	}
	most, overlap, least := 0, 0.0, math.Inf(-1)
	if c.has(2) {
		most = c.int(2)
	}
	if c.has(3) {
		overlap = c.float(3)
	}
	if c.has(4) {
		least = c.float(4)
	}
	b, s := c.data(0), c.data(1)
	classes, n := scores.shape[1], boxes.shape[1]
	center := c.attrInt("center_point_box", 0) == 1
	corners := func(batch, i int) box {
		v := b[(batch*n+i)*4:][:4]
		if center {
			return boxOf(v[1]-v[3]/2, v[0]-v[2]/2, v[1]+v[3]/2, v[0]+v[2]/2)
		}
		return boxOf(min(v[0], v[2]), min(v[1], v[3]), max(v[0], v[2]), max(v[1], v[3]))
	}
	var out []int64
	for batch := range boxes.shape[0] {
		for class := range classes {
			row := s[(batch*classes+class)*n:][:n]
			order := []int{}
			for i, v := range row {
				if v > least {
					order = append(order, i)
				}
			}
			slices.SortFunc(order, func(i, j int) int { return cmp.Or(cmp.Compare(row[j], row[i]), cmp.Compare(i, j)) })
			best := make([]box, len(order))
			for k, i := range order {
				best[k] = corners(batch, i)
			}
			taken, k := 0, keeping(best, overlap)
			for at, i := range order {
				if taken >= most {
					break
				}
				if k.keep(&best[at]) {
					taken++
					out = append(out, int64(batch), int64(class), int64(i))
				}
			}
		}
	}
	return []*Value{intsValue([]int{len(out) / 3, 3}, out...)}
}

// roiAlign averages (or takes the greatest of) samples of each cell of regions (He et al., Mask R-CNN, 2017).
func roiAlign(c *call) []*Value {
	x, rois := wide(c.t(0)), wide(c.t(1))
	batch := c.t(2).To(dtype.I32)
	if x.Rank() != 4 || rois.Rank() != 2 || rois.Dim(1) != 4 {
		c.fail("regions %v of %v", rois.Shape(), x.Shape())
	}
	ph, pw := c.attrInt("output_height", 1), c.attrInt("output_width", 1)
	ratio := c.attrInt("sampling_ratio", 0)
	half := 0.0
	if c.attrString("coordinate_transformation_mode", map[bool]string{true: "half_pixel", false: "output_half_pixel"}[c.opset >= 16]) == "half_pixel" {
		half = 0.5
	}
	r := rois.Dim(0)
	corner := func(i int) t {
		return rois.Select(1, i).Mul(c.attrFloat("spatial_scale", 1)).Sub(half).Reshape(r, 1, 1)
	}
	x1, y1, x2, y2 := corner(0), corner(1), corner(2), corner(3)
	w, h := x2.Sub(x1), y2.Sub(y1)
	if half == 0 { // regions of no size are of one element
		w, h = w.Maximum(1), h.Maximum(1)
	}
	if ph < 1 || pw < 1 || ratio < 0 || ph*pw > 1<<24 {
		c.fail("cells of %d by %d with %d samples", ph, pw, ratio)
	}
	most := c.attrString("mode", "avg") == "max"
	rows, columns := c.samples(h, ph, ratio), c.samples(w, pw, ratio)
	if rows.bound > 1<<12 || columns.bound > 1<<12 || ph*pw*rows.bound*columns.bound > 1<<24 {
		c.fail("cells of %d by %d with %d by %d samples", ph, pw, rows.bound, columns.bound)
	}
	ny, nx := rows.bound, columns.bound
	ys := rows.along(y1, h, ph).Reshape(r, ph, 1, ny, 1).Expand(r, ph, pw, ny, nx)
	xs := columns.along(x1, w, pw).Reshape(r, 1, pw, 1, nx).Expand(r, ph, pw, ny, nx)
	maps := x.IndexSelect(0, batch.Reshape(r)) // [r, c, h, w]
	v := c.bilinear(maps, ys, xs, most).Reshape(r, x.Dim(1), ph, pw, ny*nx)
	if ratio > 0 {
		if most {
			return c.one(v.Max(4), c.elem(0))
		}
		return c.one(v.Mean(4), c.elem(0))
	}
	taken := rows.taken().Reshape(r, 1, 1, 1, ny, 1).LogicalAnd(columns.taken().Reshape(r, 1, 1, 1, 1, nx)).Reshape(r, 1, 1, 1, ny*nx)
	n := rows.n.Mul(columns.n).Reshape(r, 1, 1, 1)
	if most {
		v = taken.Where(v, math.Inf(-1)).Max(4)
		return c.one(n.Gt(0).Where(v, 0.0), c.elem(0))
	}
	return c.one(taken.Where(v, 0.0).Sum(4).Div(n.Maximum(1)), c.elem(0))
}

// samples are those of the cells of regions along one axis: as many as the node says, or as many as cells are elements large, rounded up.
type samples struct {
	n     t   // of each region [r, 1, 1], of the type of the regions
	bound int // no region has more
}

// samples says how many samples cells of regions have, of which it has to know the greatest number; that is rounded up to a power of two, so that
// regions of about one size have one plan.
func (c *call) samples(size t, cells, ratio int) samples {
	if ratio > 0 {
		return samples{tensor.FullLike(size, float64(ratio)), ratio}
	}
	n := size.Div(cells).Ceil().Maximum(0)
	if n.Numel() == 0 {
		return samples{n, 1}
	}
	greatest := c.out(n.Max(), Float32)
	greatest.known = c.in[1].isKnown()
	g := float64(math.Float32frombits(binary.LittleEndian.Uint32(c.r.host(greatest))))
	if !(g <= 1<<12) {
		c.fail("cells of regions are %g elements large", g)
	}
	bound := 1
	for bound < int(g) {
		bound *= 2
	}
	return samples{n, bound}
}

// along are the places of samples [r, cells, bound].
func (s samples) along(start, size t, cells int) t {
	at := tensor.ArangeOf(dtype.F32, 0, cells, 1).Reshape(1, cells, 1).To(size.DType())
	in := tensor.ArangeOf(dtype.F32, 0, s.bound, 1).Add(0.5).Reshape(1, 1, s.bound).To(size.DType()).Div(s.n.Maximum(1))
	return start.Add(size.Div(cells).Mul(at.Add(in)))
}

// taken says which of the samples a region has [r, 1, bound].
func (s samples) taken() t {
	return tensor.ArangeOf(dtype.F32, 0, s.bound, 1).Reshape(1, 1, s.bound).To(s.n.DType()).Lt(s.n)
}

// bilinear samples maps [r, c, h, w] at places [r, …]: [r, c, …]. More than one element outside there is nothing. With most it is the greatest
// weighted neighbour instead of their sum.
func (c *call) bilinear(maps, ys, xs t, most bool) t {
	r, ch, h, w := maps.Dim(0), maps.Dim(1), maps.Dim(2), maps.Dim(3)
	n := ys.Numel() / max(1, r)
	ys, xs = ys.Reshape(r, n), xs.Reshape(r, n)
	outside := ys.Lt(-1).LogicalOr(ys.Gt(h)).LogicalOr(xs.Lt(-1)).LogicalOr(xs.Gt(w))
	ys, xs = ys.Clamp(0, h-1), xs.Clamp(0, w-1)
	y0, x0 := ys.Floor(), xs.Floor()
	flat := maps.Reshape(r, ch, h*w)
	var sum t
	for dy := range 2 {
		for dx := range 2 {
			cy, cx := y0.Add(dy).Minimum(h-1), x0.Add(dx).Minimum(w-1)
			wy, wx := ys.Sub(y0), xs.Sub(x0)
			if dy == 0 {
				wy = wy.RSub(1)
			}
			if dx == 0 {
				wx = wx.RSub(1)
			}
			at := cy.Mul(w).Add(cx).To(dtype.I32).Reshape(r, 1, n).Expand(r, ch, n)
			v := flat.Gather(2, at).Mul(outside.Where(0.0, wy.Mul(wx)).To(maps.DType()).Reshape(r, 1, n))
			switch {
			case sum == nil:
				sum = v
			case most:
				sum = sum.Maximum(v)
			default:
				sum = sum.Add(v)
			}
		}
	}
	return sum
}

// unique lists different elements, or different parts of an axis; how many there are only values tell.
func unique(c *call) []*Value {
	v := c.value(0)
	if v.kind != IsTensor {
		c.fail("a %v is no array", v)
	}
	whole := c.attr("axis") == nil
	axis, n := 0, count(v.shape)
	if !whole {
		axis = c.axis(c.attrInt("axis", 0), len(v.shape))
		n = v.shape[axis]
	}
	less := c.partOrder(v, whole, axis)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, less)
	var firsts []int
	group := make([]int, n)
	var counts []int64
	for k, i := range order {
		if k == 0 || less(order[k-1], i) != 0 {
			firsts, counts = append(firsts, i), append(counts, 0)
		}
		group[i] = len(firsts) - 1
		counts[group[i]]++
	}
	if !c.attrBool("sorted", true) { // in the order in which they come
		at := make([]int, len(firsts))
		for i := range at {
			at[i] = i
		}
		slices.SortFunc(at, func(i, j int) int { return cmp.Compare(firsts[i], firsts[j]) })
		place := make([]int, len(at))
		f, k := slices.Clone(firsts), slices.Clone(counts)
		for i, j := range at {
			firsts[i], counts[i], place[j] = f[j], k[j], i
		}
		for i := range group {
			group[i] = place[group[i]]
		}
	}
	index, inverse := make([]int64, len(firsts)), make([]int64, n)
	for i, f := range firsts {
		index[i] = int64(f)
	}
	for i, g := range group {
		inverse[i] = int64(g)
	}
	own := *c
	own.in = c.in[:1]
	values := moving(func(c *call) []*Value {
		x := c.t(0)
		if whole {
			x = x.Reshape(x.Numel())
		}
		return c.one(c.pick(x, axis, index), c.elem(0))
	})(&own)[0]
	list := func(v []int64) *Value { return intsValue([]int{len(v)}, v...) }
	return []*Value{values, list(index), list(inverse), list(counts)}
}

// partOrder compares elements, or parts of an axis element by element.
func (c *call) partOrder(v *Value, whole bool, axis int) func(i, j int) int {
	inner, outer := 1, 1
	if !whole {
		inner, outer = count(v.shape[axis+1:]), count(v.shape[:axis])
	}
	var one func(a, b int) int
	switch {
	case v.elem == String:
		one = func(a, b int) int { return cmp.Compare(v.strs[a], v.strs[b]) }
	case v.elem.isFloat():
		list := numbersOf(v.elem, c.r.host(v))
		one = func(a, b int) int { return cmp.Compare(list[a], list[b]) }
	case v.elem == Uint64:
		list, _ := integersOf(v.elem, c.r.host(v))
		one = func(a, b int) int { return cmp.Compare(uint64(list[a]), uint64(list[b])) }
	default:
		list, _ := integersOf(v.elem, c.r.host(v))
		one = func(a, b int) int { return cmp.Compare(list[a], list[b]) }
	}
	if whole {
		return one
	}
	return func(i, j int) int {
		for o := range outer {
			for k := range inner {
				if d := one((o*v.shape[axis]+i)*inner+k, (o*v.shape[axis]+j)*inner+k); d != 0 {
					return d
				}
			}
		}
		return 0
	}
}

// maxRoiPool takes the greatest element of each cell of regions that lie at whole numbers.
func maxRoiPool(c *call) []*Value {
	x, rois := c.t(0), c.data(1)
	cells, _ := c.attrInts("pooled_shape")
	if len(cells) != 2 || x.Rank() != 4 || len(rois)%5 != 0 || cells[0] < 1 || cells[1] < 1 || cells[0]*cells[1] > 1<<20 {
		c.fail("cells %v of %v", cells, x.Shape())
	}
	scale := c.attrFloat("spatial_scale", 1)
	var out []t
	c.ticks(len(rois) / 5 * cells[0] * cells[1])
	for r := 0; r < len(rois); r += 5 {
		at := func(i int) int { return int(math.Round(rois[r+i] * scale)) }
		b := int(rois[r])
		if b < 0 || b >= x.Dim(0) {
			c.fail("region %d is of image %d of %d", r/5, b, x.Dim(0))
		}
		x1, y1 := at(1), at(2)
		w, h := max(1, at(3)-x1+1), max(1, at(4)-y1+1)
		for i := range cells[0] {
			for j := range cells[1] {
				from := func(k, size, n, start, room int) (int, int) {
					lo := int(math.Floor(float64(k)*float64(size)/float64(n))) + start
					hi := int(math.Ceil(float64(k+1)*float64(size)/float64(n))) + start
					return max(0, min(lo, room)), max(0, min(hi, room))
				}
				ya, yb := from(i, h, cells[0], y1, x.Dim(2))
				xa, xb := from(j, w, cells[1], x1, x.Dim(3))
				if yb <= ya || xb <= xa {
					out = append(out, c.full(0, c.elem(0), []int{x.Dim(1)}))
					continue
				}
				out = append(out, x.Select(0, b).Narrow(1, ya, yb-ya).Narrow(2, xa, xb-xa).Max(1, 2))
			}
		}
	}
	if len(out) == 0 {
		return c.one(c.emptyOf(c.elem(0), []int{0, x.Dim(1), cells[0], cells[1]}), c.elem(0))
	}
	y := tensor.Stack(0, out...).Reshape(len(rois)/5, cells[0], cells[1], x.Dim(1)).Permute(0, 3, 1, 2)
	return c.one(y, c.elem(0))
}

// imageDecoder reads a picture. It knows the formats of the standard library, and pixels without compression.
func imageDecoder(c *call) []*Value {
	v := c.array(0)
	raw := c.r.host(v)
	format := c.attrString("pixel_format", "RGB")
	p, err := decodePicture(bytes.NewReader(raw), raw)
	if err != nil {
		panic(&opError{err})
	}
	ch := 3
	if format == "Grayscale" {
		ch = 1
	}
	out := make([]byte, 0, p.h*p.w*ch)
	for i := 0; i < len(p.rgb); i += 3 {
		r, g, b := p.rgb[i], p.rgb[i+1], p.rgb[i+2]
		switch format {
		case "RGB":
			out = append(out, r, g, b)
		case "BGR":
			out = append(out, b, g, r)
		case "Grayscale":
			out = append(out, byte((19595*uint32(r)+38470*uint32(g)+7471*uint32(b)+0x8000)>>16))
		default:
			c.fail("its pixel_format is %.40q", format)
		}
	}
	return []*Value{{elem: Uint8, shape: []int{p.h, p.w, ch}, raw: out, known: true}}
}

func init() {
	register("", map[string]operator{
		"NonMaxSuppression": nonMaxSuppression, "RoiAlign": roiAlign, "MaxRoiPool": maxRoiPool, "Unique": unique, "ImageDecoder": imageDecoder,
	})
}
