package main

import (
	"context"
	"errors"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/wasm/wire"
)

// watcher is a device that can tell how long each launch took.
type watcher interface {
	// Watch has f hear of every launch from now on, in seconds by some clock; nil ends that.
	Watch(f func(k *plan.Kernel, seconds float64, clock string))
}

// profiling is a profile that is being taken.
type profiling struct {
	device   runtime.Device
	clock    string
	launches []any
}

// profile begins a profile.
func profile(_ context.Context, c *call) (any, error) {
	s := c.server
	switch {
	case s.engine == nil:
		return nil, errNotOpen
	case s.profile != nil:
		return nil, errors.New("weft: a profile is being taken already; await it before the next")
	}
	p := &profiling{device: s.engine.Device(), clock: "none", launches: []any{}}
	d, ok := p.device.(watcher)
	if !ok {
		return nil, errors.New("weft: " + s.engine.Name() + " does not take the time of kernels")
	}
	d.Watch(func(k *plan.Kernel, seconds float64, clock string) {
		p.clock = clock
		p.launches = append(p.launches, wire.Record{
			{Name: "kernel", Value: k.Name}, {Name: "kinds", Value: k.Kinds}, {Name: "directives", Value: k.Directives},
			{Name: "seconds", Value: seconds}, {Name: "flops", Value: float64(k.Flops)}, {Name: "bytes", Value: float64(k.Bytes)},
		})
	})
	s.profile = p
	return nil, nil
}

// profiled ends it and gives what was measured.
func profiled(_ context.Context, c *call) (any, error) {
	s := c.server
	p := s.profile
	if s.profile = nil; p == nil {
		return nil, errors.New("weft: no profile is being taken")
	}
	p.device.(watcher).Watch(nil)
	if p.device != s.engine.Device() {
		return nil, errors.New("weft: the device was lost while a profile was taken; take it again")
	}
	return wire.Record{{Name: "clock", Value: p.clock}, {Name: "launches", Value: p.launches}}, nil
}
