package onnx

import (
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// kernel compares each row of x with each of n vectors, [rows, n].
func (c *call) kernel(x t, vectors []float64, n int) t {
	if n < 1 || len(vectors) != n*x.Dim(1) {
		c.fail("%d numbers of %d vectors for %v", len(vectors), n, x.Shape())
	}
	v := c.r.tensor(floatsOf(vectors)).Reshape(n, x.Dim(1))
	p := append(c.attrFloats("kernel_params"), 0, 0, 0)
	gamma, shift, degree := p[0], p[1], p[2]
	switch how := c.attrString("kernel_type", "LINEAR"); how {
	case "LINEAR":
		return x.MatMul(v.T())
	case "POLY":
		return x.MatMul(v.T()).Mul(gamma).Add(shift).Pow(degree)
	case "SIGMOID":
		return x.MatMul(v.T()).Mul(gamma).Add(shift).Tanh()
	case "RBF":
		d := x.Unsqueeze(1).Sub(v.Unsqueeze(0))
		return d.Mul(d).Sum(2).Mul(-gamma).Exp()
	default:
		c.fail("its kernel_type is %.40q", how)
	}
	return nil
}

// svmRegressor adds up what supporting vectors say; without any its coefficients are those of features.
func svmRegressor(c *call) []*Value {
	x, w := c.matrix(), c.attrFloats("coefficients")
	n := c.attrInt("n_supports", 0)
	var k t
	if n > 0 {
		k = c.kernel(x, c.attrFloats("support_vectors"), n)
	} else {
		k, n = x, x.Dim(1)
	}
	rho := c.attrFloats("rho")
	if len(w) != n || len(rho) != 1 {
		c.fail("%d coefficients and %d numbers rho of %d", len(w), len(rho), n)
	}
	y := k.MatMul(c.r.tensor(floatsOf(w)).Reshape(n, 1)).Add(rho[0])
	if c.attrBool("one_class", false) {
		return c.one(y.Gt(0).Where(1.0, -1.0), Float32)
	}
	return c.one(c.transformed(y), Float32)
}

// svmClassifier gives the class for which most of the pairs that it is in decide, and the scores of the pairs: of two classes one for each, else
// one for each pair. Without supporting vectors it is a linear classifier.
func svmClassifier(c *call) []*Value {
	x := c.matrix()
	var labels *Value
	if words := c.attrStrings("classlabels_strings"); words != nil {
		labels = Strings([]int{len(words)}, words)
	} else if a := c.typed("classlabels_ints", attrInts); a != nil {
		labels = intsValue([]int{len(a.ints)}, a.ints...)
	} else {
		c.fail("it has no classes")
	}
	classes := count(labels.shape)
	rho := c.attrFloats("rho")
	var best, y t
	if each, ok := c.attrInts("vectors_per_class"); ok && len(each) > 0 {
		best, y = c.pairs(x, classes, each, rho)
	} else {
		w := c.attrFloats("coefficients")
		if classes < 1 || len(w) != classes*x.Dim(1) || len(rho) < 1 {
			c.fail("%d coefficients of %d classes for %v", len(w), classes, x.Shape())
		}
		y = x.MatMul(c.r.tensor(floatsOf(w)).Reshape(classes, x.Dim(1)).T()).Add(rho[0])
		best, y = y.ArgMax(1), c.transformed(y)
	}
	own := *c
	own.in, own.attrs = []*Value{labels, c.out(best, Int64)}, nil
	return []*Value{moving(gather)(&own)[0], c.out(y, Float32)}
}

// pairs is the decision of each pair of classes: above 0 for the first of them.
func (c *call) pairs(x t, classes int, each []int, rho []float64) (best, y t) {
	from := make([]int, classes+1) // where the vectors of a class begin
	if classes < 2 || len(each) != classes {
		c.fail("vectors of %d classes, and there are %d", len(each), classes)
	}
	for i, n := range each {
		if n < 0 || n > 1<<26 {
			c.fail("class %d has %d vectors", i, n)
		}
		from[i+1] = from[i] + n
	}
	n, count := from[classes], classes*(classes-1)/2
	w := c.attrFloats("coefficients")
	if len(w) != (classes-1)*n || len(rho) != count {
		c.fail("%d coefficients of %d vectors and %d numbers rho for %d pairs of classes", len(w), n, len(rho), count)
	}
	of := make([]float64, c.listed(n, count)) // [n, count]: what a vector says of a pair
	won, lost := make([]float64, c.listed(count, classes)), make([]float64, count*classes)
	at := 0
	for i := range classes {
		for j := i + 1; j < classes; j++ {
			for v := from[i]; v < from[i+1]; v++ {
				of[v*count+at] = w[(j-1)*n+v]
			}
			for v := from[j]; v < from[j+1]; v++ {
				of[v*count+at] = w[i*n+v]
			}
			won[at*classes+i], lost[at*classes+j] = 1, 1
			at++
		}
	}
	table := func(list []float64, shape ...int) t { return c.r.tensor(floatsOf(list)).Reshape(shape...) }
	d := c.kernel(x, c.attrFloats("support_vectors"), n).MatMul(table(of, n, count)).Add(table(rho, count))
	first := toF32(d.Gt(0))
	votes := first.MatMul(table(won, count, classes)).Add(first.RSub(1).MatMul(table(lost, count, classes)))
	best = votes.ArgMax(1)
	if a := c.attrFloats("prob_a"); len(a) > 0 {
		return best, c.transformed(c.likely(d, classes, a, c.attrFloats("prob_b")))
	}
	if classes > 2 {
		return best, c.transformed(d)
	}
	switch how := c.attrString("post_transform", "NONE"); how { // as onnxruntime does with one score of two classes
	case "NONE":
		return best, tensor.Cat(1, d.Neg(), d)
	case "LOGISTIC":
		return best, tensor.Cat(1, d.Neg(), d).Sigmoid()
	case "SOFTMAX", "SOFTMAX_ZERO":
		return best, tensor.Cat(1, d.RSub(1), d)
	default:
		c.notYet("SVMClassifier of two classes with " + how)
	}
	return best, nil
}

// likely are the probabilities of classes: of each pair that of its first one (Platt, 1999), and of more than two what agrees with all pairs best.
func (c *call) likely(d t, classes int, a, b []float64) t {
	if len(a) != d.Dim(1) || len(b) != d.Dim(1) {
		c.fail("%d numbers prob_a and %d prob_b for %d pairs of classes", len(a), len(b), d.Dim(1))
	}
	p := d.Mul(c.r.tensor(floatsOf(a))).Add(c.r.tensor(floatsOf(b))).Neg().Sigmoid().Clamp(1e-7, 1-1e-7).To(dtype.F32)
	if classes == 2 {
		return tensor.Cat(1, p, p.RSub(1))
	}
	rows, pairs := p.Dim(0), p.Dim(1)
	of := numbersOf(Float32, c.r.host(c.out(p, Float32)))
	out := make([]float64, 0, c.listed(rows, classes))
	for i := range rows {
		out = append(out, coupled(of[i*pairs:(i+1)*pairs], classes)...)
	}
	return c.r.tensor(floatsOf(out)).Reshape(rows, classes)
}

// The coupling of pairs ends after so many rounds, or where n classes are off by less than coupledWithin/n. libsvm and onnxruntime stop there, some way
// before the solution: solving the equations at once would give other digits, and where to stop depends on a row's numbers, so rows are coupled in Go.
const (
	coupledRounds = 100
	coupledWithin = 0.005
)

// coupled are the probabilities p of n classes of which those of pairs are given: the first one's, if it is either. They make the sum of (r[j][i]·p[i] −
// r[i][j]·p[j])² over all pairs least (Wu, Lin and Weng, "Probability estimates for multi-class classification by pairwise coupling", 2004, the second
// method, by its algorithm 2).
func coupled(pairs []float64, n int) []float64 {
	r := make([][]float64, n)
	for i := range r {
		r[i] = make([]float64, n)
	}
	at := 0
	for i := range n {
		for j := i + 1; j < n; j++ {
			r[i][j], r[j][i] = pairs[at], 1-pairs[at]
			at++
		}
	}
	p, qp, q := make([]float64, n), make([]float64, n), make([][]float64, n)
	for i := range n {
		p[i], q[i] = 1/float64(n), make([]float64, n)
		for j := range n {
			if j != i {
				q[i][i] += r[j][i] * r[j][i]
				q[i][j] = -r[j][i] * r[i][j]
			}
		}
	}
	for range coupledRounds {
		pqp, off := 0.0, 0.0
		for i := range n {
			qp[i] = 0
			for j := range n {
				qp[i] += q[i][j] * p[j]
			}
			pqp += p[i] * qp[i]
		}
		for i := range n {
			off = max(off, qp[i]-pqp, pqp-qp[i])
		}
		if off < coupledWithin/float64(n) {
			break
		}
		for i := range n {
			more := (pqp - qp[i]) / q[i][i]
			p[i] += more
			pqp = (pqp + more*(more*q[i][i]+2*qp[i])) / (1 + more) / (1 + more)
			for j := range n {
				qp[j], p[j] = (qp[j]+more*q[i][j])/(1+more), p[j]/(1+more)
			}
		}
	}
	return p
}

func init() {
	register("ai.onnx.ml", map[string]operator{"SVMRegressor": svmRegressor, "SVMClassifier": svmClassifier})
}
