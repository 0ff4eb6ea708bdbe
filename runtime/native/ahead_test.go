//go:build !wasm

package native

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
)

// long is a kernel whose text is as long as is worth a run of the compiler.
func long(entry string, rows, cols int) plan.Kernel {
	k := add(entry, rows, cols)
	k.Source += "// " + strings.Repeat("x", aheadText) + "\n"
	return k
}

// Kernels that the device hears of before their plan are compiled once, alone or with others, and whether they have been begun with or not.
func TestExpectedKernels(t *testing.T) {
	forget()
	d := open(t, Options{})
	p := addPlan("expected_0_test", 1, 3)
	for i := 1; i < 6; i++ {
		k := add(fmt.Sprintf("expected_%d_test", i), 1, 3)
		if i%2 == 0 {
			k = long(k.Entry, 1, 3)
		}
		p.Kernels = append(p.Kernels, k)
		p.Steps = append(p.Steps, plan.Step{Kind: plan.Launch, Kernel: i, Slots: []int{0, 1, 2}})
	}
	for range 2 { // the second time they are known
		for i := range p.Kernels {
			Expect(d)(context.Background(), &p.Kernels[i])
		}
		other := add("expected_elsewhere_test", 1, 3) // of a plan that is loaded later
		Expect(d)(context.Background(), &other)
		l := load(t, d, p)
		out := alloc(t, d, 12)
		require.NoError(t, d.Play(l, []runtime.Mem{out, put(t, d, 1, 2, 3), put(t, d, 1, 1, 1)}, nil))
		require.Equal(t, []float32{2, 3, 4}, get(t, d, out))
		assert.Equal(t, 7, d.Stats().Compiled)
	}
	again := open(t, Options{CacheDir: d.build.cache.folder.Path})
	forget()
	for i := range p.Kernels {
		Expect(again)(context.Background(), &p.Kernels[i])
	}
	load(t, again, p)
	assert.Equal(t, 6, again.Stats().FromDisk)
	assert.Zero(t, again.Stats().Compiled)
}

// What cannot be compiled is an error of the plan that has it, and of no other; what was cancelled is compiled anew.
func TestExpectedKernelsThatFail(t *testing.T) {
	forget()
	d := open(t, Options{})
	bad, good := long("expected_bad_test", 1, 3), long("expected_good_test", 1, 3)
	bad.Source = strings.Replace(bad.Source, "float *o", "undeclared_thing *o", 1)
	ctx, cancel := context.WithCancel(context.Background())
	Expect(d)(ctx, &good)
	cancel()
	Expect(d)(ctx, &good)
	Expect(d)(context.Background(), &bad)
	p := addPlan("expected_other_test", 1, 3)
	p.Kernels = append(p.Kernels, good)
	load(t, d, p)
	p.Kernels = append(p.Kernels, bad)
	Expect(d)(context.Background(), &bad)
	_, err := d.Load(context.Background(), p)
	var ce *CompileError
	require.ErrorAs(t, err, &ce)
	assert.Contains(t, ce.Output, "undeclared_thing")
	assert.Equal(t, []string{"expected_bad_test"}, ce.Kernels)
}

// A device that is closed while it compiles leaves nothing behind.
func TestClosedWhileCompilingAhead(t *testing.T) {
	forget()
	dir := t.TempDir()
	dev, err := Open(Options{CacheDir: dir, Prelude: prelude, CC: slowCompiler(t)})
	require.NoError(t, err)
	k := long("expected_never_test", 1, 3)
	Expect(dev)(context.Background(), &k)
	start := time.Now()
	require.NoError(t, dev.Close())
	assert.Less(t, time.Since(start), 5*time.Minute, "the compiler takes twice as long")
	left, err := os.ReadDir(filepath.Join(dir, "tmp"))
	if err == nil {
		assert.Empty(t, left)
	}
}

// Compiling that takes long is told of.
func TestProgress(t *testing.T) {
	p := &progress{all: 9, next: time.Now()}
	var said []string
	over := make(chan struct{})
	p.log = func(line string) {
		if said = append(said, line); len(said) == 1 {
			close(over)
		}
	}
	p.done.Add(4)
	p.await(over)
	assert.Equal(t, []string{"CPU: compiling 9 kernels, of which 4 are done"}, said)
	p.await(over)
	assert.Len(t, said, 1)

	b := open(t, Options{}).build
	begun := []*batch{{keys: []string{"a", "b"}}, {keys: []string{"c"}}} // of which a plan may need none
	assert.Equal(t, 3, b.progress(nil, begun).all)
	assert.Equal(t, 4, b.progress(map[string]*plan.Kernel{"d": {}}, begun).all)
}
