// Package interp spells lowered kernels as byte code (package plan/bytecode) for the INTERP device.
//
// It knows statements and the instructions of the machine. It refuses to know why a kernel looks as it does, and
// how the machine works.
//
//	p, err := lower.Lower(spec, directives, interp.Target(false))
//	k, err := interp.Render(p) // k.Source is the byte code
package interp

import (
	"fmt"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/uop"
)

// Target describes the machine to the lowering: vectors of any length, every op exactly as package uop means it.
// Only the transcendental functions are the polynomials that all devices share, and narrow floats are
// computed in F32 where an op rounds.
func Target(noOpt bool) *codegen.Target {
	return &codegen.Target{
		Name: "interp", Compiling: 1 << 19, VectorLen: func(dtype.DType) int { return 0 }, Registers: 16, L1: 32 << 10, L2: 512 << 10,
		Nests: codegen.NestLimits{Most: 12, Flops: 1 << 15, Bytes: 1 << 16, Before: 64, Rows: 8},
		Has:   has, Total: true, NoOpt: noOpt,
	}
}

func has(o uop.Op, d dtype.DType) bool {
	switch {
	case uop.Info(o).Trait == uop.Function || o == uop.Dot2 || o == uop.Dot4 || o == uop.DotBF16:
		return false
	case d.IsNarrow():
		switch o {
		case uop.Neg, uop.Trunc, uop.RoundEven, uop.Max, uop.Less, uop.Equal, uop.Where, uop.Cast, uop.Bitcast:
			return true
		}
		return false
	case d == dtype.Bool:
		switch o {
		case uop.And, uop.Or, uop.Xor, uop.Less, uop.Equal, uop.Where, uop.Cast, uop.Bitcast:
			return true
		}
		return false
	}
	return true
}

// Render compiles a kernel. Its source is the text of the byte code.
func Render(p *codegen.Program) (k plan.Kernel, err error) {
	code, err := Compile(p)
	if err != nil {
		return k, fmt.Errorf("interp: kernel %s: %w", p.Name, err)
	}
	if err := code.Check(); err != nil {
		panic(fmt.Errorf("BUG: interp: kernel %s: %w\n%s\n%s", p.Name, err, codegen.Dump(p), code))
	}
	text := code.String()
	k = plan.Kernel{
		Name: p.Name, Kinds: p.Kinds, Entry: codegen.Entry(text), Source: text, Scratch: code.ScratchBytes(),
		Threads: int32(max(1, p.Threads)), Flops: p.Flops, Bytes: p.Bytes, Directives: p.Directives,
	}
	for _, q := range code.Params {
		k.Binds = append(k.Binds, plan.Bind{Write: q.Write, Bytes: q.N * int64(q.DType.Size())})
	}
	return k, nil
}
