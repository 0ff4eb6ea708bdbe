// Package wgsl spells lowered kernels in the WebGPU shading language.
//
// It knows the language, what it cannot say, and what shader compilers take for granted. It refuses to know why a
// kernel looks as it does, and what runs it.
//
//	p, err := lower.Lower(spec, directives, wgsl.Target(wgsl.Machine{}))
//	k, err := wgsl.Render(p) // k.Grid, k.Binds, k.Draft
//	wgsl.Finish(plan)        // k.Source, k.Entry
package wgsl

import (
	"fmt"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/legal"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/uop"
)

// Name is the target's, and that of the plans written for it.
const Name = "wgsl"

// Machine is what the code generator should know of an adapter; zero limits stand for the least that WebGPU promises.
type Machine struct {
	Limits    plan.Limits
	CPUBacked bool // runs on a processor
	Tile      int  // values that one invocation should keep for others to be used with; 0: the usual
	NoOpt     bool
	Features  plan.Features
}

// Target describes the language on an adapter to the lowering. Its values are scalars; neighbouring accesses to
// memory are put together when they are spelled.
func Target(m Machine) *codegen.Target {
	least := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	least(&m.Limits.MaxBindings, 8)
	least(&m.Limits.Groups, maxGroups)
	least(&m.Limits.Invocations, 256)
	if m.Limits.Shared == 0 {
		m.Limits.Shared = 16 << 10
	}
	if m.Limits.MaxBytes == 0 {
		m.Limits.MaxBytes = 128 << 20
	}
	least(&m.Tile, 64)
	var unroll codegen.Unroll
	parallel, compiling := 0, 1<<27
	if !m.CPUBacked {
		compiling = 1 << 33
		unroll, parallel = codegen.Unroll{Copies: 4, Bound: 8, Ops: 1000}, invocationsAtOnce
	}
	return &codegen.Target{
		Unroll: unroll, Parallel: parallel, Compiling: compiling, Loose: !m.CPUBacked,
		Name: Name, VectorLen: func(dtype.DType) int { return 1 }, Registers: m.Tile, Has: has, Limits: m.Limits, NoOpt: m.NoOpt,
		Grid: true, ShortLoops: true, CPUBacked: m.CPUBacked, Features: m.Features,
		Fours: func(d dtype.DType) bool { return d.Size() == 4 || d == dtype.F16 && m.Features.Has(plan.Half) },
	}
}

// invocationsAtOnce keep a graphics processor busy: small ones run some ten thousand at a time, large ones a few hundred thousand.
const invocationsAtOnce = 1 << 16

const (
	maxGroups   = 65535
	invocations = 64 // of a workgroup
)

// has: arithmetic of 32-bit words and of pairs of them; narrow floats can be moved, selected and converted: float16
// are kept as the f32 of the same value, the others as words. The functions of the language promise too little.
func has(o uop.Op, d dtype.DType) bool {
	switch {
	case d == dtype.F64:
		return false
	case d.IsNarrow():
		return o == uop.Where || o == uop.Bitcast || o == uop.Cast && d == dtype.F16
	case d == dtype.Bool:
		return o == uop.And || o == uop.Or || o == uop.Xor || o == uop.Where || o == uop.Bitcast
	}
	return uop.Info(o).Trait != uop.Function && o != uop.Dot2 && o != uop.Dot4 && o != uop.DotBF16
}

// Render gives a kernel's launch and its draft. Finish spells it, for the memory that a plan binds to it.
func Render(p *codegen.Program) (k plan.Kernel, err error) {
	for i, q := range p.Params {
		if q.DType == dtype.F64 {
			return k, fmt.Errorf("argument %d: %w", i, &legal.Unsupported{Target: "WEBGPU", Op: uop.Load, DType: q.DType})
		}
	}
	if p.Foreign != nil {
		return foreignKernel(p), nil
	}
	d := newDraft(p.Apart())
	k = plan.Kernel{
		Name: p.Name, Kinds: p.Kinds, Draft: d, Threads: d.threads(), Grid: d.grid, Needs: d.needs(),
		Flops: p.Flops, Bytes: p.Bytes, Directives: p.Directives,
	}
	for _, q := range p.Params {
		k.Binds = append(k.Binds, plan.Bind{Write: q.Write, Bytes: elements(q) * int64(q.DType.Size())})
	}
	return k, nil
}

func elements(q codegen.Param) int64 {
	n := int64(1)
	for _, d := range q.Dims {
		n *= int64(d)
	}
	return n
}

// countThreads is the product of nested Thread or Grid loops; 0 where nothing is to be done.
func countThreads(stmts []codegen.Stmt) int {
	if len(stmts) == 0 {
		return 0
	}
	n := 1
	for _, s := range stmts {
		if l, ok := s.(*codegen.Loop); ok && (l.Kind == codegen.Thread || l.Kind == codegen.Grid) {
			n = max(n, l.Range.Arg().(uop.RangeArg).N*countThreads(l.Body))
		}
	}
	return n
}

// spread puts workgroups on two dimensions where one is too short.
func spread(groups int) [3]uint32 {
	if groups == 0 {
		return [3]uint32{}
	}
	rows := (groups + maxGroups - 1) / maxGroups
	return [3]uint32{uint32((groups + rows - 1) / rows), uint32(rows), 1}
}
