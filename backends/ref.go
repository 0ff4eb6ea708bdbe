// Package backends pairs languages with machines: importing it makes the devices of this
// platform available by name, in the manner of database drivers.
//
//	import _ "github.com/weft-ml/weft/backends"
//
// It knows every device and language and refuses to do anything else.
package backends

import (
	"context"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/ref"
	"github.com/weft-ml/weft/runtime"
)

func init() {
	engine.Register(engine.Backend{Name: "REF", Open: func(engine.Options, func(*plan.Kernel, float64)) (*engine.Machine, error) {
		return &engine.Machine{Device: host{}, Evaluate: ref.Eval}, nil
	}})
}

// host is memory without a machine: REF evaluates graphs, it plays no plans.
type host struct{}

type hostMem []byte

func (m *hostMem) Bytes() int64 { return int64(len(*m)) }
func (m *hostMem) Free()        { *m = nil }

func (host) Info() plan.Info {
	return plan.Info{Name: "REF", Detail: "reference evaluator: slow, the truth in tests", Threads: 1}
}

// most is how many bytes an array may have there: the evaluator makes far more beside it.
const most = 8 << 30

func (host) Alloc(bytes int64) (runtime.Mem, error) {
	if bytes > most {
		return nil, &runtime.OutOfMemory{Device: "REF", Asked: bytes, Max: most}
	}
	m := make(hostMem, bytes)
	return &m, nil
}

func (host) Write(dst runtime.Mem, at int64, src []byte) error {
	copy((*dst.(*hostMem))[at:], src)
	return nil
}
func (host) Read(_ context.Context, dst []byte, src runtime.Mem, at int64) error {
	copy(dst, (*src.(*hostMem))[at:])
	return nil
}
func (host) Load(context.Context, *plan.Plan) (runtime.Loaded, error) {
	panic("BUG: REF plays no plans")
}
func (host) Play(runtime.Loaded, []runtime.Mem, []int32) error { panic("BUG: REF plays no plans") }
func (host) Sync(context.Context) error                        { return nil }
func (host) Close() error                                      { return nil }
