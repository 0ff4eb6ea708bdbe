package webgpu

import (
	"context"

	"github.com/weft-ml/weft/plan"
)

// Adapter is what a transport found.
type Adapter struct {
	Name      string // "llvmpipe (LLVM 15.0.6, 256 bits)"
	Backend   string // "Vulkan"
	CPUBacked bool   // runs on the processor
	Tile      int    // values that one invocation should keep for others to be used with; 0: the usual
	Features  plan.Features
	Limits    plan.Limits
}

// Buffer, Pipeline and Group are a transport's own objects. A transport holds what a submission uses until it is
// done, so Release may be called at any time.
type (
	Buffer   interface{ Release() }
	Pipeline interface{ Release() }
	Group    interface{ Release() }
)

// Use says what a buffer is for.
type Use uint8

const (
	Storage Use = iota // bound to kernels, copied, written and read by the host
	Uniform            // bound as the uniform block, written by the host
)

// Bind is an entry of a pipeline's layout. Binding 0 is the uniform block; storage buffers follow.
type Bind uint8

const (
	BindUniform Bind = iota
	BindRead
	BindReadWrite
)

// Entry is a range of a buffer that is bound.
type Entry struct {
	Buffer   Buffer
	At, Size int64
}

// Command is one thing to do: a dispatch if Pipeline is set, else a copy.
type Command struct {
	Pipeline Pipeline
	Group    Group
	Grid     [3]uint32
	part     bool // of a launch that is cut

	To, From     Buffer
	ToAt, FromAt int64
	Bytes        int64
}

// Transport is the little of WebGPU that a player needs. Sizes and offsets are multiples of 4. Pipeline may be
// called from several goroutines at once, everything else from one; Release from any.
type Transport interface {
	Adapter() Adapter
	Buffer(bytes int64, use Use) (Buffer, error)
	Pipeline(source, entry string, binds []Bind) (Pipeline, error)
	Group(p Pipeline, entries []Entry) (Group, error)
	Write(b Buffer, at int64, data []byte) error // after what was submitted; data may be reused
	Submit(commands []Command) error
	Read(ctx context.Context, dst []byte, b Buffer, at int64) error // waits
	Wait(ctx context.Context) error
	Lost() error // why the device is gone, or nil
	Close()
}
