// Package wasm writes lowered kernels as WebAssembly functions with 128-bit vectors, in binary, without any tool.
//
// It knows the instructions and what engines make of them. It refuses to know why a kernel looks as it does, and
// who runs it.
//
//	p, err := lower.Lower(spec, directives, wasm.Target(wasm.Machine{}))
//	k, err := wasm.Renderer(wasm.Machine{})(p) // k.Code is a function's body, k.Source its text to read
//
// WebAssembly has no multiply-add. Sums of products and the shared polynomials use the relaxed one where Machine.Relaxed
// allows it, and else round twice; a MulAdd of the graph is computed exactly: where the relaxed one rounds once (Machine.Fused), by that. Index arithmetic has 32 bits wherever the bounds show that they
// suffice; indices of lanes always have 32 bits, four lanes at a time.
package wasm

import (
	"fmt"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/uop"
)

// Machine is what the code generator should know of the engine that will run the code.
type Machine struct {
	Relaxed bool // the engine has relaxed-simd multiply-add,
	Fused   bool // which rounds once
	Wazero  bool // the engine checks every access by instructions, and its splats wait for the register's last value
	NoOpt   bool
}

// tableSteps is what looking the lanes of a vector up in a table takes, one by one, in operations of a vector.
const tableSteps = 12

// Target describes WebAssembly to the lowering.
func Target(m Machine) *codegen.Target {
	registers, ahead := 16, 0 // what wazero makes of carried sums takes longer than the pages
	if !m.Wazero {
		registers, ahead = 15, 16 // V8 keeps one of x64 for itself
	}
	nests := codegen.NestLimits{Rows: 8}
	if m.Wazero { // in a page the engine would be larger by what makes and lowers them, and its first part is what people wait for
		nests.Most, nests.Flops, nests.Bytes = 12, 120_000, 120_000 // what runtime/wasm has one thread do
	}
	lookup := tableSteps
	if m.NoOpt {
		lookup = 0
	}
	return &codegen.Target{
		Name: "wasm", Lookup: lookup, Compiling: 1 << 26, VectorLen: vectorLen, Registers: registers, L1: 32 << 10, L2: 512 << 10, ReadsAhead: ahead, OneStream: !m.Wazero, HoldsLoads: !m.Wazero, Has: m.has, RelaxedFMA: m.Relaxed, SoftFMA: m.Fused, Broad: m.Wazero, NoOpt: m.NoOpt,
		Nests: nests, ShortLoops: true, Splats: true, Unroll: codegen.Unroll{Copies: 4, Ops: 1000},
	}
}

// vectorLen: lanes have 32 bits, or 64 for 64-bit types. Narrower types take a lane of 32 bits each.
func vectorLen(d dtype.DType) int {
	if d.Size() == 8 {
		return 2
	}
	return 4
}

// has: arithmetic of numbers; narrow floats are words that can be moved and selected; truth values are 0 and 1,
// or masks of lanes.
func (m Machine) has(o uop.Op, d dtype.DType) bool {
	switch {
	case d.IsNarrow():
		return o == uop.Where || o == uop.Bitcast
	case d == dtype.Bool:
		return o == uop.And || o == uop.Or || o == uop.Xor || o == uop.Bitcast
	}
	switch {
	case uop.Info(o).Trait == uop.Function || o == uop.Dot4 || o == uop.DotBF16:
		return false
	case o == uop.MulAdd:
		return d.IsInt() || m.Fused
	case o == uop.Dot2:
		return d == dtype.I32
	}
	return true
}

// anyMachine is asked which ops a HorizontalReduce may use.
var anyMachine = Target(Machine{})

// Renderer gives the function that writes kernels for a machine. The entry's name is a hash of the code, so equal
// kernels have equal names.
func Renderer(m Machine) func(p *codegen.Program) (plan.Kernel, error) {
	return func(p *codegen.Program) (k plan.Kernel, err error) {
		defer func() {
			if x := recover(); x != nil {
				panic(fmt.Errorf("wasm: kernel %s: %v\n%s", p.Name, x, codegen.Dump(p)))
			}
		}()
		r := newRenderer(p, m)
		r.head()
		r.block(p.Body)
		code := r.body()
		entry := codegen.Entry(string(code))
		k = plan.Kernel{
			Name: p.Name, Kinds: p.Kinds, Entry: entry, Code: code, Scratch: r.scratch, Threads: int32(max(1, p.Threads)),
			Flops: p.Flops, Bytes: p.Bytes, Directives: p.Directives,
			Source: fmt.Sprintf(";; %s, %d locals\n(func $%s (param $buf i32) (param $var i32) (param $scratch i32) (param $lo i32) (param $hi i32)\n%s)\n",
				p.Name, len(r.locals), entry, r.text.String()),
		}
		for _, q := range p.Params {
			n := int64(q.DType.Size())
			for _, d := range q.Dims {
				n *= int64(d)
			}
			k.Binds = append(k.Binds, plan.Bind{Write: q.Write, Bytes: n})
		}
		return k, nil
	}
}
