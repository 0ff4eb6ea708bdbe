package tensor

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Jitted is a function that is captured anew for each new combination of devices, shapes and types of its inputs.
type Jitted struct {
	f    func(in ...*Tensor) []*Tensor
	mu   sync.Mutex
	list []*jitted // last used first
}

type jitted struct {
	key  string
	once sync.Once
	done chan struct{} // closed when it has been captured
	c    *Captured
	err  error
}

// capture is the captured function, or why there is none.
func (s *jitted) capture(ctx context.Context, f func(in ...*Tensor) []*Tensor, inputs []*Tensor) (*Captured, error) {
	s.once.Do(func() {
		defer close(s.done)
		s.c, s.err = Capture(ctx, f, inputs...)
	})
	return s.c, s.err
}

// mostJitted is how many captured functions a Jitted keeps.
const mostJitted = 32

// Jit is f, captured when inputs of new devices, shapes and types come by: see Capture for what f may do. The 32 captured functions that were used
// last are kept; what depends on more sizes than that has an axis whose size is a Variable, or is computed
// without Jit: then graphs of ever new sizes share plans. Any number of goroutines may run it.
//
//	step := tensor.Jit(func(in ...*tensor.Tensor) []*tensor.Tensor { return []*tensor.Tensor{in[0].Softmax(-1)} })
//	outs, err := step.Run(ctx, x) // captured at the first x of its shape
func Jit(f func(in ...*Tensor) []*Tensor) *Jitted { return &Jitted{f: f} }

// Run computes f of these inputs. Inside of a function that is being captured it is f itself.
func (j *Jitted) Run(ctx context.Context, inputs ...*Tensor) (outs []*Tensor, err error) {
	if recorder() != nil {
		err = Try(func() { outs = j.f(inputs...) })
		return outs, err
	}
	c, err := j.captured(ctx, inputs)
	if err != nil {
		return nil, err
	}
	return c.Run(ctx, inputs...)
}

// captured is the captured function for these inputs.
func (j *Jitted) captured(ctx context.Context, inputs []*Tensor) (*Captured, error) {
	e, err := engineFor(ctx, inputs)
	if err != nil {
		return nil, err
	}
	key := e.Name()
	for _, in := range inputs {
		key += fmt.Sprint(" ", in.DType(), in.Sizes())
	}
	s := j.entry(key)
	c, err := s.capture(ctx, j.f, inputs)
	if err != nil { // perhaps ctx has ended, so the next call tries again
		j.drop(s)
	}
	return c, err
}

func (j *Jitted) entry(key string) *jitted {
	j.mu.Lock()
	defer j.mu.Unlock()
	i := slices.IndexFunc(j.list, func(s *jitted) bool { return s.key == key })
	s := &jitted{key: key, done: make(chan struct{})}
	if i >= 0 {
		s = j.list[i]
		j.list = slices.Delete(j.list, i, i+1)
	} else if len(j.list) == mostJitted {
		old := j.list[mostJitted-1]
		j.list = j.list[:mostJitted-1]
		go func() {
			<-old.done // whoever asked for it first may only be about to
			if old.c != nil {
				old.c.plan.Release()
			}
		}()
	}
	j.list = slices.Insert(j.list, 0, s)
	return s
}

func (j *Jitted) drop(s *jitted) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.list = slices.DeleteFunc(j.list, func(x *jitted) bool { return x == s })
}

// Shapes is how many captured functions there are.
func (j *Jitted) Shapes() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.list)
}
