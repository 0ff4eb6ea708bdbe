package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	need "github.com/weft-ml/weft/tests/require"
)

// Each machine brings kernels of its own: the large graphs are there for that.
func TestLargeGraphsDifferByMachine(t *testing.T) {
	texts := make([]string, len(machines))
	for i, m := range machines {
		e, err := compiler("TESTED", m.Machine, plan.Limits{})
		require.NoError(t, err)
		n, err := planLarge(e, func(v *engine.View) {
			for _, k := range v.Plan.Kernels {
				texts[i] += k.Source
			}
		})
		require.NoError(t, err)
		assert.Equal(t, 2*len(large), n)
		require.NoError(t, e.Close())
	}
	assert.NotContains(t, texts[0], "var<workgroup>")
	assert.Contains(t, texts[1], "var<workgroup>")
	assert.NotContains(t, texts[1], "enable ")
	assert.Contains(t, texts[2], "enable subgroups;")
	assert.Contains(t, texts[3], "enable f16;")
	assert.Contains(t, texts[0], "wg.y * ")

	e, err := compiler("TESTED", machines[1].Machine, slow)
	require.NoError(t, err)
	cut := ""
	_, err = planLarge(e, func(v *engine.View) {
		for _, k := range v.Plan.Kernels {
			if k.Parts != nil {
				cut += k.Source
			}
		}
	})
	require.NoError(t, err)
	assert.Contains(t, cut, "var<workgroup>")
	assert.Contains(t, cut, "(wg.y * ")
	assert.NotContains(t, cut, "array<vec4<u32>, 1>;")
	require.NoError(t, e.Close())
}

// A shader that nobody takes is named by everybody, with the reason.
func TestRefusals(t *testing.T) {
	s := set{work: t.TempDir(), seen: map[string]bool{}}
	bad := shader{Name: "E_4", Entry: "k", Source: "@compute @workgroup_size(1)\nfn k() { let x = y; }\n"}
	good := shader{Name: "E_4", Entry: "k", Source: "@compute @workgroup_size(1)\nfn k() {}\n"}
	require.NoError(t, s.add("a test", 3, []shader{bad, good, good}))
	require.Len(t, s.all, 2)
	if metal, hlsl, err := askNaga(s.work, s.all); err == nil {
		for _, v := range []verdict{metal, hlsl} {
			require.Len(t, v.refused, 1)
			assert.Contains(t, v.refused[0].why, "y")
			assert.ErrorContains(t, report("naga", v), "refuses 1 shaders")
		}
	} else {
		need.Device(t, "NAGA", err)
	}
}

func TestSummary(t *testing.T) {
	all := []shader{{Name: "a"}, {Name: "b", Needs: plan.Half}}
	whole := verdict{asked: all}
	chrome := verdict{asked: all[:1]}
	assert.Equal(t, "shaders 2: Chromium 2, Tint 2, Metal 2, HLSL 2", summary(all, whole, whole, whole, whole))
	line := summary(all, chrome, whole, whole, whole)
	assert.True(t, strings.HasPrefix(line, "shaders 2: Chromium 1 of 1 (1 need features that its adapter here has not"), line)
	whole.add(all[0], "no")
	assert.Contains(t, summary(all, chrome, whole, whole, whole), "Tint 1, Metal 1, HLSL 1")
}
