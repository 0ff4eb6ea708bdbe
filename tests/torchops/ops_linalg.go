package torchops

import (
	"github.com/weft-ml/weft/tensor"
)

const linalg = "torch.linalg."

var linalgOps = map[string]op{
	linalg + "inv": unaryOf("A", T.Inv), linalg + "det": unaryOf("A", T.Det), "torch.logdet": unary(T.LogDet), "torch.det": unary(T.Det),
	"torch.inverse":     unary(T.Inv),
	linalg + "slogdet":  two("A", func(c *call) (T, T) { return c.T("A").SlogDet() }),
	linalg + "cholesky": one("A, *, upper=False", cholesky),
	"torch.cholesky_solve": one("B, L, upper=False", func(c *call) T {
		return lower(c).CholeskySolve(c.T("B"))
	}),
	"torch.cholesky_inverse": one("L, upper=False", func(c *call) T {
		l := lower(c)
		eye := tensor.Eye(l.Dim(-1)).To(l.DType()).Expand(l.Shape()...)
		return l.CholeskySolve(eye)
	}),
	linalg + "solve":            one("A, B, *, left=True", solve),
	linalg + "solve_triangular": one("A, B, *, upper, left=True, unitriangular=False", solveTriangular),
	linalg + "qr":               {"A, mode='reduced'", qr},
	linalg + "svd": {"A, full_matrices=True", func(c *call) []any {
		u, s, vt := c.T("A").SVD(c.Bool("full_matrices"))
		return outputs(u, s, vt)
	}},
	linalg + "svdvals":  unaryOf("A", T.SingularValues),
	linalg + "eigh":     two("A, UPLO='L'", func(c *call) (T, T) { return c.T("A").Eigh(choice(c, "UPLO", halves)) }),
	linalg + "eigvalsh": one("A, UPLO='L'", func(c *call) T { return c.T("A").Eigvalsh(choice(c, "UPLO", halves)) }),
	linalg + "pinv":     one("A, *, atol=None, rtol=None, hermitian=False", func(c *call) T { return c.T("A").PInv(c.tolerance("atol"), c.tolerance("rtol")) }),
	linalg + "matrix_rank": one("A, *, atol=None, rtol=None, hermitian=False", func(c *call) T {
		return c.T("A").MatrixRank(c.tolerance("atol"), c.tolerance("rtol"))
	}),
	linalg + "cond":         one("A, p=None", cond),
	linalg + "matrix_power": one("A, n", func(c *call) T { return c.T("A").MatrixPower(c.Int("n")) }),
	linalg + "matrix_exp":   unaryOf("A", T.MatrixExp),
	linalg + "matrix_norm": one("A, ord='fro', dim=(-2, -1), keepdim=False, *, dtype=None", func(c *call) T {
		return matrixNorm(c, c.inType("A"), "ord")
	}),
	linalg + "vector_norm": one("x, ord=2, dim=None, keepdim=False, *, dtype=None", func(c *call) T {
		return c.reduce(c.inType("x"), func(x T, axes ...int) T { return x.Norm(c.order("ord"), axes...) })
	}),
	linalg + "norm":   one("input, ord=None, dim=None, keepdim=False, *, dtype=None", linalgNorm),
	linalg + "cross":  one("input, other, *, dim=-1", func(c *call) T { return c.T("input").Cross(c.T("other"), c.Int("dim")) }),
	"torch.cross":     one("input, other, dim=None", cross),
	linalg + "vecdot": one("x, y, *, dim=-1", func(c *call) T { return c.T("x").Mul(c.T("y")).Sum(c.Int("dim")) }),
	linalg + "multi_dot": one("tensors", func(c *call) T {
		ts := c.Ts("tensors")
		if len(ts) < 2 {
			c.refuse("a product of %d matrices", len(ts))
		}
		out := ts[0]
		for i, t := range ts {
			if end := i == 0 || i == len(ts)-1; t.Rank() != 2 && !(end && t.Rank() == 1) {
				c.refuse("operand %d has %d axes", i, t.Rank())
			}
		}
		for _, t := range ts[1:] {
			out = out.MatMul(t)
		}
		return out
	}),
	"torch.matmul": one("input, other", func(c *call) T { return c.T("input").MatMul(c.T("other")) }),
	"torch.mm":     one("input, mat2", product(2, 2, "mat2")), "torch.bmm": one("input, mat2", product(3, 3, "mat2")),
	"torch.mv": one("input, vec", product(2, 1, "vec")), "torch.dot": one("input, tensor", product(1, 1, "tensor")),
	"torch.outer":   one("input, vec2", func(c *call) T { return c.T("input").Outer(c.T("vec2")) }),
	"torch.inner":   one("input, other", inner),
	"torch.kron":    one("input, other", func(c *call) T { return c.T("input").Kron(c.T("other")) }),
	"torch.addmm":   one("input, mat1, mat2, *, beta=1, alpha=1", addProduct("mat1", "mat2")),
	"torch.addmv":   one("input, mat, vec, *, beta=1, alpha=1", addProduct("mat", "vec")),
	"torch.baddbmm": one("input, batch1, batch2, *, beta=1, alpha=1", addProduct("batch1", "batch2")),
	"torch.addr": one("input, vec1, vec2, *, beta=1, alpha=1", func(c *call) T {
		return c.T("input").Mul(c.Operand("beta")).Add(c.T("vec1").Outer(c.T("vec2")).Mul(c.Operand("alpha")))
	}),
	"torch.tensordot": one("a, b, dims=2, out=None", tensordot),
	"torch.einsum": one("equation, *operands", func(c *call) T {
		return tensor.Einsum(c.Str("equation"), c.Ts("operands")...)
	}),
	functional + "linear":   one("input, weight, bias=None", func(c *call) T { return c.T("input").Linear(c.T("weight"), c.OptT("bias")) }),
	functional + "bilinear": one("input1, input2, weight, bias=None", bilinear),
}

// halves are the triangles of a symmetric matrix that may be read: whether it is the upper one.
var halves = map[string]bool{"L": false, "U": true}

// qrModes are the modes of qr: whether Q is square.
var qrModes = map[string]bool{"reduced": false, "complete": true, "r": false}

func unaryOf(name string, f func(x T) T) op {
	return one(name, func(c *call) T { return f(c.T(name)) })
}

// product is a matrix product of operands of fixed ranks.
func product(left, right int, other string) func(c *call) T {
	return func(c *call) T {
		x, y := c.T("input"), c.T(other)
		if x.Rank() != left || y.Rank() != right || left == 3 && x.Dim(0) != y.Dim(0) {
			panic(&tensor.ShapeError{Op: c.op, Reason: "the operands do not have the ranks or batches that this product takes"})
		}
		return x.MatMul(y)
	}
}

func addProduct(a, b string) func(c *call) T {
	return func(c *call) T {
		product := c.T(a).MatMul(c.T(b)).Mul(c.Operand("alpha"))
		if c.T("input").Rank() > product.Rank() {
			c.refuse("an input with %d axes beside a product with %d", c.T("input").Rank(), product.Rank())
		}
		if c.Float("beta") == 0 { // then torch does not look at the input, which may be NaN
			return product.Add(tensor.ZerosLike(c.T("input")))
		}
		return c.T("input").Mul(c.Operand("beta")).Add(product)
	}
}

// inner sums over the last axes.
func inner(c *call) T {
	x, y := c.T("input"), c.T("other")
	if x.Rank() == 0 || y.Rank() == 0 {
		return x.Mul(y)
	}
	return contracted(x, y, []int{x.Rank() - 1}, []int{y.Rank() - 1})
}

// tensordot sums over the last axes of a and the first of b, or over named ones.
func tensordot(c *call) T {
	a, b := c.T("a"), c.T("b")
	if n, ok := c.value("dims").(int); ok {
		if n < 0 {
			panic(&tensor.ArgumentError{Op: c.op, Reason: "a negative number of axes"})
		}
		var x, y []int
		for i := range n {
			x, y = append(x, a.Rank()-n+i), append(y, i)
		}
		return contracted(a, b, x, y)
	}
	list, ok := c.value("dims").([]any)
	if !ok || len(list) != 2 {
		misfit("tensordot: dims are %v", c.value("dims"))
	}
	x, _ := ints(list[0])
	y, _ := ints(list[1])
	return contracted(a, b, x, y)
}

// contracted sums the products over pairs of axes: an Einsum.
func contracted(a, b T, x, y []int) T {
	if len(x) != len(y) {
		panic(&tensor.ArgumentError{Op: "TensorDot", Reason: "different numbers of axes"})
	}
	return a.TensorDot(b, x, y)
}

func bilinear(c *call) T {
	x := tensor.Einsum("...i,oij,...j->...o", c.T("input1"), c.T("weight"), c.T("input2"))
	if b := c.OptT("bias"); b != nil {
		return x.Add(b)
	}
	return x
}

func cholesky(c *call) T {
	if c.Bool("upper") {
		return c.T("A").T().Cholesky().T()
	}
	return c.T("A").Cholesky()
}

// lower is the factor L, transposed where it is the upper one.
func lower(c *call) T {
	if c.Bool("upper") {
		return c.T("L").T()
	}
	return c.T("L")
}

func solve(c *call) T {
	a, b := c.T("A"), c.T("B")
	if c.Bool("left") {
		return a.Solve(b)
	}
	return a.T().Solve(b.T()).T()
}

func solveTriangular(c *call) T {
	a, b, upper := c.T("A"), c.T("B"), c.Bool("upper")
	if c.Bool("left") {
		return a.SolveTriangular(b, upper, c.Bool("unitriangular"))
	}
	return a.T().SolveTriangular(b.T(), !upper, c.Bool("unitriangular")).T()
}

func qr(c *call) []any {
	mode := c.Str("mode")
	q, r := c.T("A").QR(choice(c, "mode", qrModes))
	if mode == "r" {
		return outputs(tensor.Full(0, q.DType(), 0), r)
	}
	return outputs(q, r)
}

// tolerance is a number or −1 for none.
func (c *call) tolerance(name string) float64 {
	if v, ok := c.OptFloat(name); ok {
		return v
	}
	return -1
}

func cond(c *call) T {
	if c.None("p") {
		return c.T("A").Cond(tensor.Spectral)
	}
	return c.T("A").Cond(matrixKind(c, c.value("p")))
}

// linalgNorm is a matrix norm for two axes and an order, else a vector norm.
func linalgNorm(c *call) T {
	x, axes := c.inType("input"), c.axesOrAll("dim")
	if _, named := c.value("ord").(string); named && len(axes) == 0 && x.Rank() != 2 || !c.None("ord") && len(axes) == 0 && (x.Rank() == 0 || x.Rank() > 2) {
		panic(&tensor.ShapeError{Op: c.op, Reason: "an order without axes needs a vector or a matrix"})
	}
	matrix := len(axes) == 2 || len(axes) == 0 && x.Rank() == 2 && !c.None("ord")
	if matrix && !c.None("ord") {
		return matrixNorm(c, x, "ord")
	}
	return c.reduce(x, func(x T, axes ...int) T { return x.Norm(c.order("ord"), axes...) })
}

// cross takes the first axis of size 3 where none is named.
func cross(c *call) T {
	x := c.T("input")
	if !c.None("dim") {
		return x.Cross(c.T("other"), c.Int("dim"))
	}
	for i, n := range x.Shape() {
		if n == 3 {
			return x.Cross(c.T("other"), i)
		}
	}
	return x.Cross(c.T("other"), -1)
}
