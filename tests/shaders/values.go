package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/weft-ml/weft/codegen/wgsl"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime/webgpu"
	"github.com/weft-ml/weft/runtime/webgpu/wgpu"
	"github.com/weft-ml/weft/tests/torchops"
)

// spy is a transport that keeps the shaders of its pipelines.
type spy struct {
	webgpu.Transport
	mu      sync.Mutex
	shaders []shader
}

// Pipeline notes the shader. Its name is the entry's: the plan's is not told.
func (s *spy) Pipeline(source, entry string, binds []webgpu.Bind) (webgpu.Pipeline, error) {
	one := shader{Name: entry, Entry: entry, Source: source}
	for _, b := range binds[1:] { // the first is the uniform block
		one.Writes = append(one.Writes, b == webgpu.BindReadWrite)
	}
	s.mu.Lock()
	s.shaders = append(s.shaders, one)
	s.mu.Unlock()
	return s.Transport.Pipeline(source, entry, binds)
}

// compute runs the cases whose graphs depend on values, and gives the shaders that they needed.
func compute(cases []*torchops.Case) ([]shader, error) {
	t, err := wgpu.Open(wgpu.Options{Headless: true})
	if err != nil {
		return nil, missing(err.Error())
	}
	s := &spy{Transport: t}
	e, err := engine.New(engine.Backend{
		Name: "WEBGPU",
		Open: func(engine.Options, func(*plan.Kernel, float64)) (*engine.Machine, error) {
			d, err := webgpu.Open(s, webgpu.Options{})
			return &engine.Machine{Device: d, Target: wgsl.Target(machines[0].Machine), Render: wgsl.Render, Finish: wgsl.Finish}, err
		},
	}, engine.Options{})
	if err != nil {
		return nil, err
	}
	report := torchops.Run(context.Background(), e, cases)
	err = e.Close()
	if report.Count(torchops.Failed) > 0 {
		err = errors.Join(err, fmt.Errorf("cases that depend on values:\n%s", report.Failures()))
	}
	return s.shaders, err
}
