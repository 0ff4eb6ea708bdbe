package webgpu

import (
	"context"
	"fmt"
	goruntime "runtime"
	"strings"
	"sync"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
)

// loaded is a plan with its pipelines.
type loaded struct {
	dev       *Device
	plan      *plan.Plan
	pipelines []*compiled // by kernel
	arena     []int       // memories of kind Arena

	uniform Buffer // blocks of infinity, NaN, the plan's variables and the first workgroup: one for each of firsts
	firsts  []uint32
	vars    []int32
	written bool

	groups map[string]Group // by step and buffers
	epoch  uint64
	mems   []*mem // of each memory, during a play
	passed []*mem // through which copies go, during a play
	key    []byte
}

// pipelineKey: kernels of different plans that read the same are one pipeline.
type pipelineKey struct{ source, entry, binds string }

// compiled is a pipeline, or why there is none.
type compiled struct {
	key      pipelineKey
	pipeline Pipeline
	err      error
	users    int // loaded plans
}

// maxIdle is how many pipelines are kept that no loaded plan uses.
const maxIdle = 256

// RefusedKernel says that the driver does not take a kernel.
type RefusedKernel struct {
	Kernel string
	Why    error
	Line   int    // of the source, counted from 1; 0 where the driver does not say
	Source string // with line numbers
}

func (e *RefusedKernel) Error() string {
	return fmt.Sprintf("%s: kernel %s was refused: %v\n%s", Name, e.Kernel, e.Why, e.Source)
}

func (e *RefusedKernel) Unwrap() error { return e.Why }

// Load compiles all kernels, in parallel.
func (d *Device) Load(ctx context.Context, p *plan.Plan) (runtime.Loaded, error) {
	if err := d.door.Load(p, Target); err != nil {
		return nil, err
	}
	if err := p.CheckFeatures(d.adapter.Features); err != nil {
		return nil, fmt.Errorf("%s: load plan: %w", Name, err)
	}
	l := &loaded{dev: d, plan: p, firsts: p.Firsts(), vars: make([]int32, len(p.Vars)), groups: map[string]Group{}, mems: make([]*mem, len(p.Memory))}
	for i, m := range p.Memory {
		if m.Kind == plan.Arena && m.Bytes > 0 {
			l.arena = append(l.arena, i)
		}
	}
	if err := d.compile(ctx, l); err != nil {
		return nil, err
	}
	return l, nil
}

func (d *Device) compile(ctx context.Context, l *loaded) error {
	var wait sync.WaitGroup
	slots := make(chan struct{}, goruntime.GOMAXPROCS(0))
	for i := range l.plan.Kernels {
		k := &l.plan.Kernels[i]
		key, binds := keyOf(k)
		c := d.pipelines[key]
		if c == nil {
			c = &compiled{key: key}
			d.pipelines[key] = c
			wait.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				if c.err = ctx.Err(); c.err == nil {
					c.pipeline, c.err = d.gpu.Pipeline(k.Source, k.Entry, binds)
				}
			})
		}
		c.users++
		l.pipelines = append(l.pipelines, c)
	}
	wait.Wait()
	for i, c := range l.pipelines {
		if c.err == nil {
			continue
		}
		d.leave(l.pipelines)
		k := &l.plan.Kernels[i]
		if why := d.gpu.Lost(); why != nil {
			return &runtime.Lost{Device: Name, Why: why}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		line := lineOf(c.err)
		return &RefusedKernel{k.Name, c.err, line, numbered(k.Source, line)}
	}
	return nil
}

func keyOf(k *plan.Kernel) (pipelineKey, []Bind) {
	binds := []Bind{BindUniform}
	text := []byte{'u'}
	for _, b := range k.Binds {
		if b.Write || b.Mutable {
			binds, text = append(binds, BindReadWrite), append(text, 'w')
		} else {
			binds, text = append(binds, BindRead), append(text, 'r')
		}
	}
	return pipelineKey{k.Source, k.Entry, string(text)}, binds
}

// lineOf finds the place in a message such as "… ┌─ wgsl:12:5 …"; 0 where there is none.
func lineOf(err error) (line int) {
	_, at, _ := strings.Cut(err.Error(), "wgsl:")
	for _, c := range at {
		if c < '0' || c > '9' {
			break
		}
		line = 10*line + int(c-'0')
	}
	return line
}

// numbered is a text with the numbers of its lines, one of them marked.
func numbered(source string, marked int) string {
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimRight(source, "\n"), "\n") {
		mark := ' '
		if i+1 == marked {
			mark = '>'
		}
		fmt.Fprintf(&b, "%c%3d  %s\n", mark, i+1, line)
	}
	return b.String()
}

// Plan is what was loaded.
func (l *loaded) Plan() *plan.Plan { return l.plan }
func (l *loaded) Owner() any       { return l.dev }

// Free drops the plan's groups; pipelines stay for other plans for a while.
func (l *loaded) Free() {
	l.drop()
	if l.dev != nil {
		l.dev.leave(l.pipelines)
	}
	if l.uniform != nil {
		l.uniform.Release()
		l.uniform = nil
	}
	l.dev = nil
}

// leave ends a plan's use of its pipelines. What failed is forgotten, and the longest idle are when there are too many.
func (d *Device) leave(of []*compiled) {
	for _, c := range of {
		c.users--
		if c.err != nil {
			delete(d.pipelines, c.key)
		} else if c.users == 0 {
			d.idle = append(d.idle, c)
		}
	}
	for len(d.idle) > maxIdle {
		c := d.idle[0]
		d.idle = d.idle[1:]
		if c.users == 0 && c.pipeline != nil { // else it is used again, or was idle twice
			delete(d.pipelines, c.key)
			c.pipeline.Release()
			c.pipeline = nil
		}
	}
}

func (l *loaded) drop() {
	for _, g := range l.groups {
		g.Release()
	}
	clear(l.groups)
}
