//go:build !wasm

package native

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	need "github.com/weft-ml/weft/tests/require"
)

func TestCompileErrorIsShown(t *testing.T) {
	d := open(t, Options{})
	p := addPlan("broken_test", 1, 3)
	p.Kernels[0].Source = "void broken_test(void) { return undeclared_thing; }"
	_, err := d.Load(context.Background(), p)
	var ce *CompileError
	require.ErrorAs(t, err, &ce)
	assert.Equal(t, []string{"broken_test"}, ce.Kernels)
	assert.Contains(t, ce.Output, "undeclared_thing")
	assert.Contains(t, err.Error(), "-ffp-contract=off")
	p.Kernels[0].Source = strings.Repeat("int x = undeclared_thing;\n", 5000)
	_, err = d.Load(context.Background(), p)
	require.ErrorAs(t, err, &ce)
	assert.Less(t, len(err.Error()), 6000)
	assert.Equal(t, []string{"key"}, filesIn(t, d.build.cache.folder.Path))
}

func TestCompilerThatFails(t *testing.T) {
	for cc, what := range map[string]string{"false": "exit status 1", "/no/such/cc -m64": "there is no C compiler /no/such/cc, which CC names"} {
		_, err := Open(Options{CC: cc, CacheDir: t.TempDir()})
		require.ErrorAs(t, err, new(*runtime.Misconfigured), cc)
		assert.ErrorContains(t, err, what)
		assert.ErrorContains(t, err, "set CC to one that ")
	}
}

// One that was found and does not work is no wrong setting: another device may be used.
func TestFoundCompilerThatFails(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "clang"), []byte("#!/bin/sh\nexit 3\n"), 0o700))
	t.Setenv("PATH", dir)
	_, err := Open(Options{CacheDir: t.TempDir()})
	require.ErrorAs(t, err, new(*CompileError))
	require.NotErrorAs(t, err, new(*runtime.Misconfigured))
}

func TestNoCompiler(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Open(Options{CacheDir: t.TempDir()})
	var none *NoCompiler
	require.ErrorAs(t, err, &none)
	assert.Contains(t, err.Error(), "clang, gcc, cc, clang-99 to clang-5, gcc-99 to gcc-5 in PATH")
}

// Compilers that have a version in their name are found where there are no others, the newest first.
func TestCompilerNames(t *testing.T) {
	real, err := exec.LookPath("gcc")
	if err != nil {
		real, err = exec.LookPath("cc")
	}
	need.Device(t, "CPU", err)
	if real, err = filepath.Abs(real); err != nil {
		t.Fatal(err)
	}
	tools, err := exec.LookPath("as")
	require.NoError(t, err)
	dirs := []string{t.TempDir(), t.TempDir()}
	add := func(dir int, names ...string) {
		for _, name := range names {
			require.NoError(t, os.Symlink(real, filepath.Join(dirs[dir], name)))
		}
	}
	found := func(cc string) string {
		t.Helper()
		c, err := findCompiler(context.Background(), cc)
		require.NoError(t, err)
		return strings.Join(append([]string{filepath.Base(c.command[0])}, c.command[1:]...), " ")
	}
	t.Setenv("PATH", strings.Join(dirs, string(os.PathListSeparator)))
	add(0, "gcc-9", "clang-tidy-15", "gcc-ar-14")
	assert.Equal(t, "gcc-9", found(""))
	add(1, "gcc-14")
	assert.Equal(t, "gcc-14", found(""))
	add(1, "clang-7")
	add(0, "clang-19")
	assert.Equal(t, "clang-19", found(""))
	assert.Equal(t, "gcc-9 -m64", found("gcc-9 -m64"), "one that is named wins")
	for _, name := range []string{"cc", "gcc", "clang"} {
		add(1, name)
		assert.Equal(t, name, found(""))
	}

	// What was found compiles.
	t.Setenv("PATH", dirs[0]+string(os.PathListSeparator)+filepath.Dir(tools))
	d := open(t, Options{CC: "clang-19"})
	_, err = d.Load(context.Background(), addPlan("add_test", 1, 3))
	require.NoError(t, err)
}

// Clang makes vectors of neighbouring statements unless it is told not to behind -O2.
func TestMachineFlagsComeLast(t *testing.T) {
	c, err := findCompiler(context.Background(), need.Compiler(t))
	require.NoError(t, err)
	optimised := slices.Index(c.flags, "-O2")
	require.GreaterOrEqual(t, optimised, 0)
	for _, f := range slices.Concat(machineFlags...) {
		require.NotContains(t, c.flags[:optimised], f)
	}
}

// On Linux a library names no other, and finds in the process what it calls; what the compiler calls itself lies within it.
func TestLibrariesNeedNoOthers(t *testing.T) {
	d := open(t, Options{})
	if goruntime.GOOS != "linux" {
		t.Skip("only on Linux are libraries linked without the C library")
	}
	if !slices.Contains(d.build.cc.flags, leanLink[0]) {
		need.Device(t, deviceName, fmt.Errorf("%s refuses %v", d.build.cc.name, leanLink))
	}
	p := addPlan("calls_test", 1, 3)
	p.Kernels[0].Source = "__attribute__((noinline)) static void *zero(void *x, long n) { return __builtin_memset(x, 0, n); }\n" +
		strings.Replace(p.Kernels[0].Source, "{", `{
	zero(buf[0], 4 * (hi - lo));
	double x = ((const float *)buf[1])[0] + 10;
	unsigned __int128 big = (unsigned __int128)x << 70;
	big /= (unsigned __int128)(x + 1);`, 1)
	p.Kernels[0].Source = strings.Replace(p.Kernels[0].Source, "b[i];", "b[i] + (float)(uint64_t)(big >> 64);", 1)
	l := load(t, d, p)
	out := alloc(t, d, 12)
	require.NoError(t, d.Play(l, []runtime.Mem{out, put(t, d, 1, 2, 3), put(t, d, 10, 20, 30)}, nil))
	require.NoError(t, d.Sync(context.Background()))
	assert.Equal(t, []float32{11 + 58, 22 + 58, 33 + 58}, get(t, d, out)) // 11·2⁷⁰/12 = 58.7·2⁶⁴

	_, library := kept(t, d.build.cache.folder.Path, p.Kernels[0])
	file, err := elf.Open(library)
	require.NoError(t, err)
	defer file.Close()
	libraries, err := file.ImportedLibraries()
	require.NoError(t, err)
	assert.Empty(t, libraries)
}

func TestUnwritableCache(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, dir := range []string{file, filepath.Join(file, "sub")} {
		_, err := Open(Options{CacheDir: dir})
		require.Error(t, err)
		assert.Contains(t, err.Error(), dir)
		assert.Contains(t, err.Error(), "WEFT_CACHE")
	}
}

// forget makes the process look at the cache folder again, as a new process would.
func forget() {
	process.turn <- struct{}{}
	defer func() { <-process.turn }()
	clear(process.functions)
	clear(process.libraries)
}

func TestDiskCache(t *testing.T) {
	dir := t.TempDir()
	play := func(compiled, fromDisk int) {
		t.Helper()
		forget()
		d := open(t, Options{CacheDir: dir})
		l := load(t, d, addPlan("disk_test", 1, 3))
		out := alloc(t, d, 12)
		require.NoError(t, d.Play(l, []runtime.Mem{out, put(t, d, 1, 2, 3), put(t, d, 1, 1, 1)}, nil))
		assert.Equal(t, []float32{2, 3, 4}, get(t, d, out))
		assert.Equal(t, []int{compiled, fromDisk}, []int{d.Stats().Compiled, d.Stats().FromDisk})
	}
	replace := func(path string, text []byte) { // by rename: the old file may be mapped
		t.Helper()
		require.NoError(t, os.WriteFile(path+"x", text, 0o600))
		require.NoError(t, os.Rename(path+"x", path))
	}
	play(1, 0)
	play(0, 1)
	index, library := kept(t, dir, add("disk_test", 1, 3))

	good, err := os.ReadFile(library)
	require.NoError(t, err)
	bad := bytes.Clone(good)
	bad[len(bad)/2] ^= 1
	replace(library, bad)
	play(1, 0)
	play(0, 1)
	_, again := kept(t, dir, add("disk_test", 1, 3))
	now, err := os.ReadFile(again)
	require.NoError(t, err)
	assert.Equal(t, good, now, "the same text gives the same bytes")

	replace(library, good[:len(good)/2])
	play(1, 0)
	require.NoError(t, os.Remove(library))
	play(1, 0)
	replace(index, []byte("garbage\n"))
	play(1, 0)
	replace(index, nil)
	play(1, 0)
	play(0, 1)
}

func TestKeyDependsOnAll(t *testing.T) {
	cc := &compiler{identity: "gcc"}
	k := add("a", 1, 3)
	seen := map[string]bool{newBuilder(cc, nil, prelude, nil).key(&k): true}
	k.Threads = 7 // how it is launched changes no machine code
	assert.True(t, seen[newBuilder(cc, nil, prelude, nil).key(&k)])
	longer := k
	longer.Source += " "
	for _, key := range []string{
		newBuilder(cc, nil, prelude+" ", nil).key(&k),
		newBuilder(&compiler{identity: "gcc -mavx"}, nil, prelude, nil).key(&k),
		newBuilder(cc, nil, prelude, nil).key(&longer),
	} {
		assert.False(t, seen[key])
		seen[key] = true
	}
}

func TestManyKernelsAtOnce(t *testing.T) {
	p := addPlan("many_0_test", 1, 3)
	for i := 1; i < 90; i++ {
		p.Kernels = append(p.Kernels, add(fmt.Sprintf("many_%d_test", i), 1, i))
	}
	d := open(t, Options{})
	load(t, d, p)
	assert.Equal(t, 90, d.Stats().Compiled)
	libraries, err := filepath.Glob(filepath.Join(d.build.cache.folder.Path, "*"+libraryExt))
	require.NoError(t, err)
	assert.True(t, len(libraries) >= 3 && len(libraries) <= 23, "%d libraries", len(libraries))
	forget()
	again := open(t, Options{CacheDir: d.build.cache.folder.Path})
	load(t, again, p)
	assert.Equal(t, 90, again.Stats().FromDisk)
	t.Logf("90 kernels compiled in %v", d.Stats().Compiling)
}

func TestSplit(t *testing.T) {
	for _, n := range []int{1, 3, 4, 5, 39, 41, 200} {
		missing := map[string]*plan.Kernel{}
		for i := range n {
			missing[fmt.Sprint(i)] = &plan.Kernel{Source: strings.Repeat("x", i%7*100)}
		}
		batches, all := split(missing, 3), map[string]bool{}
		assert.Equal(t, batches, split(missing, 3))
		for _, b := range batches {
			assert.NotEmpty(t, b)
			for _, key := range b {
				all[key] = true
			}
		}
		assert.Len(t, all, n)
	}
}

func TestLoadCanBeCancelled(t *testing.T) {
	d := open(t, Options{})
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	time.Sleep(2 * time.Millisecond)
	_, err := d.Load(ctx, addPlan("cancel_test", 1, 3))
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

// slowCompiler takes 20 seconds for kernels.
func slowCompiler(t *testing.T) string {
	cc := filepath.Join(t.TempDir(), "slow")
	script := "#!/bin/sh\ncase \"$*\" in *kernels.c*) exec sleep 600;; *) exec " + need.Compiler(t) + " \"$@\";; esac\n"
	require.NoError(t, os.WriteFile(cc, []byte(script), 0o755))
	return cc
}

// A deadline that passes while the compiler runs is what the error says, not how the compiler ended.
func TestDeadlineWhileCompiling(t *testing.T) {
	d := open(t, Options{CC: slowCompiler(t)})
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err := d.Load(ctx, addPlan("deadline_test", 1, 3))
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.ErrorContains(t, err, "compile deadline_test")
}

// TestProcess is what the processes of TestSeveralProcesses run.
func TestProcess(t *testing.T) {
	dir := os.Getenv("WEFT_TEST_PROCESS_CACHE")
	if dir == "" {
		t.Skip("runs only as a child of TestSeveralProcesses")
	}
	d := open(t, Options{CacheDir: dir})
	p := addPlan("process_0_test", 1, 3)
	for i := 1; i < 6; i++ {
		p.Kernels = append(p.Kernels, add(fmt.Sprintf("process_%d_test", i), 1, i))
	}
	l := load(t, d, p)
	out := alloc(t, d, 12)
	require.NoError(t, d.Play(l, []runtime.Mem{out, put(t, d, 1, 2, 3), put(t, d, 1, 1, 1)}, nil))
	require.Equal(t, []float32{2, 3, 4}, get(t, d, out))
}

// Processes that compile the same at once, one of which is killed, harm nobody.
func TestSeveralProcesses(t *testing.T) {
	dir := t.TempDir()
	open(t, Options{CacheDir: dir}) // skips where there is no compiler
	child := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0], "-test.run=^TestProcess$")
		cmd.Env = append(os.Environ(), "WEFT_TEST_PROCESS_CACHE="+dir)
		return cmd
	}
	var children []*exec.Cmd
	outputs := make([]bytes.Buffer, 3)
	for i := range outputs {
		cmd := child()
		cmd.Stdout, cmd.Stderr = &outputs[i], &outputs[i]
		require.NoError(t, cmd.Start())
		children = append(children, cmd)
	}
	victim := child()
	require.NoError(t, victim.Start())
	time.Sleep(60 * time.Millisecond)
	_ = victim.Process.Kill()
	_ = victim.Wait()
	for i, cmd := range children {
		require.NoError(t, cmd.Wait(), outputs[i].String())
	}
	last := child()
	text, err := last.CombinedOutput()
	require.NoError(t, err, string(text))
}

// filesIn lists the files in a folder and in those within it.
func filesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			names = append(names, e.Name())
		}
		return err
	}))
	return names
}
