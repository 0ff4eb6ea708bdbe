package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime/webgpu/page"
	"github.com/weft-ml/weft/tests/browser"
)

const coldNote = "the first product of two matrices: milliseconds from the library's readiness until the result is a typed array of the\n" +
	"page, with uploading and compiling. Medians of %d fresh browsers each.\n"

var coldCases = []compared{
	{"matmul 1024", 1.5, []string{"by hand"}},
	{"matmul 256", 0, []string{"by hand"}},
}

// measureColdStart takes a fresh browser for each product, so that nothing is cached anywhere.
func measureColdStart(ctx context.Context, o options, p *printer, url string) error {
	names := []string{"weft", "jax-js", "by hand"}
	rounds := (o.rounds + 1) / 2
	headed := false
	p.threads = 0 // pages here do not tell
	for _, c := range coldCases {
		if !o.wants("coldstart", "cold "+c.name) {
			continue
		}
		if !headed {
			p.head("coldstart", fmt.Sprintf(coldNote, rounds), names)
			headed = true
		}
		got := map[string]timed{}
		all := map[string][]float64{}
		for range rounds {
			for _, who := range names {
				t, err := first(ctx, url, who, c.name)
				if err != nil {
					return err
				}
				all[who] = append(all[who], t.Ms)
				slices.Sort(all[who])
				if n := len(all[who]); t.Failed == "" {
					t.Ms, t.Low, t.High, t.Runs = all[who][n/2], all[who][0], all[who][n-1], n
				}
				got[who] = t
			}
		}
		p.row("coldstart", c, names, got)
	}
	return nil
}

func first(ctx context.Context, url, who, name string) (t timed, err error) {
	err = inPage(ctx, url+"/cold.html", "globalThis.cold", func(page *browser.Page, _ string) error {
		return page.Run(fmt.Sprintf("return await cold(%q, %q)", who, name), &t)
	})
	return t, err
}

// dispatches is how many launches the plan for measuring has; each of its few kernels counts one up, in a place of its own.
const (
	dispatches = 1024
	kernels    = 16
	places     = 64
	mostMicros = 0.3
)

// measureEncoding measures what the player costs for each dispatch of a plan.
func measureEncoding(ctx context.Context, o options, p *printer, url string) error {
	if !o.wants("encoding", "") {
		return nil
	}
	return inPage(ctx, url+"/encoding.html", "globalThis.encoding", func(page *browser.Page, version string) error {
		var t timed
		if err := page.Run(fmt.Sprintf("return await encoding(%d, 100)", dispatches), &t); err != nil {
			return err
		}
		p.encoding(version, t)
		return nil
	})
}

// manyDispatches is a plan of many small launches, each with another kernel than the one before.
func manyDispatches() []byte {
	many := &plan.Plan{Version: plan.Version, Target: "wgsl", Memory: []plan.Memory{{Kind: plan.State, Bytes: places * 256}}}
	for i := range kernels {
		many.Kernels = append(many.Kernels, plan.Kernel{
			Name: fmt.Sprintf("count_%d", i), Entry: "count", Grid: [3]uint32{1, 1, 1}, Binds: []plan.Bind{{Write: true, Bytes: 4}},
			Source: fmt.Sprintf("@group(0) @binding(0) var<uniform> u: vec4u; @group(0) @binding(1) var<storage, read_write> x: array<f32>;\n"+
				"@compute @workgroup_size(1) fn count() { if (u.z == %du) { return; } x[0] += 1.0; }", i+1),
		})
	}
	for i := range places {
		many.Slots = append(many.Slots, plan.Slot{Memory: 0, Offset: int64(i) * 256, Bytes: 256, DType: dtype.F32, Dims: []int{64}})
	}
	for i := range dispatches {
		many.Steps = append(many.Steps, plan.Step{Kind: plan.Launch, Kernel: i % kernels, Slots: []int{i % places}})
	}
	return page.Pack(many)
}
