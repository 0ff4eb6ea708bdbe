package codegen

import (
	"strconv"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/uop"
)

// ForeignKernel is the kernel of a program that is text already, without its source.
func ForeignKernel(p *Program) plan.Kernel {
	k := plan.Kernel{Name: p.Name, Threads: int32(p.Threads), Bytes: p.Bytes, Foreign: true}
	for _, q := range p.Params {
		k.Binds = append(k.Binds, plan.Bind{Write: q.Write, Bytes: int64(uop.Shape(q.Dims).Numel()) * int64(q.DType.Size())})
	}
	return k
}

// ForeignName is what the text of a kernel calls a Param: in0, in1, …, out0, …
func (p *Program) ForeignName(i int) string {
	if i < p.Foreign.Args {
		return "in" + strconv.Itoa(i)
	}
	return "out" + strconv.Itoa(i-p.Foreign.Args)
}
