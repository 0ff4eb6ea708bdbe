//go:build unix

package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/runtime"
	need "github.com/weft-ml/weft/tests/require"
)

// script writes a compiler that does something of its own with kernels and is a real one otherwise.
func script(t *testing.T, probe, kernels string) string {
	t.Helper()
	cc := filepath.Join(t.TempDir(), "cc")
	real := `exec ` + need.Compiler(t) + ` "$@"`
	if probe == "" {
		probe = real
	}
	if kernels == "" {
		kernels = real
	}
	text := "#!/bin/sh\ncase \"$*\" in\n*kernels.c*)\n" + kernels + "\n;;\n*)\n" + probe + "\n;;\nesac\n"
	require.NoError(t, os.WriteFile(cc, []byte(text), 0o755))
	return cc
}

// gone waits until a process is.
func gone(t *testing.T, pidFile string) {
	t.Helper()
	text, err := os.ReadFile(pidFile)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		if syscall.Kill(pid, 0) != nil {
			return true
		}
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return strings.Contains(string(stat), ") Z ") // dead, and nobody has asked
	}, time.Minute, 10*time.Millisecond, "process %d lives", pid)
}

// hang starts a child that ignores being asked to end, tells its number and waits for it.
func hang(pidFile string) string {
	return "(trap '' INT TERM HUP; sleep 300) &\necho $! > " + pidFile + ".new; mv " + pidFile + ".new " + pidFile + "\nwait"
}

// cancelledOnce gives a context that ends when a file appears.
func cancelledOnce(t *testing.T, file string) context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(file); err == nil {
				cancel()
			}
			time.Sleep(5 * time.Millisecond)
		}
	}()
	return ctx
}

// A compiler that hangs ends with who waits for it, when it is asked what it is and when it compiles, and so does what it
// has started.
func TestCompilerThatHangs(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	_, err := OpenContext(cancelledOnce(t, pid), Options{CC: script(t, hang(pid), ""), CacheDir: t.TempDir()})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "ask the C compiler")
	gone(t, pid)

	pid = filepath.Join(t.TempDir(), "pid")
	d := open(t, Options{CC: script(t, "", hang(pid))})
	_, err = d.Load(cancelledOnce(t, pid), addPlan("hang_test", 1, 3))
	require.ErrorIs(t, err, context.Canceled)
	gone(t, pid)
	assert.Equal(t, []string{"key"}, filesIn(t, d.build.cache.folder.Path))
}

// Whoever waits for another's compiling to end stops waiting with its own context.
func TestWaitingForAnother(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	first := open(t, Options{CC: script(t, "", hang(pid))})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := first.Load(ctx, addPlan("first_test", 1, 3))
		done <- err
	}()
	second := open(t, Options{})
	_, err := second.Load(cancelledOnce(t, pid), addPlan("second_test", 1, 3))
	require.ErrorIs(t, err, context.Canceled)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	gone(t, pid)
}

// A probe that nobody cancels is given up, once and not for each set of flags, and Open says it.
func TestProbeThatTakesTooLong(t *testing.T) {
	was := probeTime
	probeTime = 200 * time.Millisecond
	defer func() { probeTime = was }()
	tries := filepath.Join(t.TempDir(), "tries")
	_, err := Open(Options{CC: script(t, "echo x >> "+tries+"; exec sleep 300", ""), CacheDir: t.TempDir()})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	text, err := os.ReadFile(tries)
	require.NoError(t, err)
	assert.Equal(t, "x\n", string(text))
}

func TestCompilersThatLie(t *testing.T) {
	good := need.Compiler(t)
	for what, c := range map[string]struct{ does, want string }{
		"nothing":  {"exit 0", "it ended without an error but wrote no library"},
		"empty":    {": > kernels" + libraryExt, "it ended without an error but wrote no library"},
		"garbage":  {"echo garbage > kernels" + libraryExt, ""},
		"half":     {good + ` "$@" && head -c 3000 kernels` + libraryExt + ` > x && mv x kernels` + libraryExt, ""},
		"killed":   {"kill -9 $$", "signal: killed"},
		"segfault": {"kill -11 $$", "signal: segmentation fault"},
		"other":    {"echo 'int other;' > kernels.c; " + good + ` "$@"`, "does not define"},
	} {
		d := open(t, Options{CC: script(t, "", c.does)})
		_, err := d.Load(context.Background(), addPlan("lie_"+what+"_test", 1, 3))
		require.Error(t, err, what)
		assert.ErrorContains(t, err, "lie_"+what+"_test", what)
		assert.ErrorContains(t, err, c.want, what)
		assert.NotContains(t, err.Error(), "/proc/self/fd", "paths lead to files for everyone")
		assert.Equal(t, []string{"key"}, filesIn(t, d.build.cache.folder.Path), what)
	}
}

// A compiler that prints without end fills no memory, and one that leaves something running is not waited for.
func TestCompilersThatTalk(t *testing.T) {
	d := open(t, Options{CC: script(t, "", `head -c 30000000 /dev/zero | tr '\0' x >&2; exit 1`)})
	_, err := d.Load(context.Background(), addPlan("talk_test", 1, 3))
	var ce *CompileError
	require.ErrorAs(t, err, &ce)
	assert.Less(t, len(err.Error()), 6000)
	assert.Contains(t, ce.Output, "xxxx")

	// It looks up its child's pipes, not the clock: the child outlives the test unless it is ended here.
	pid := filepath.Join(t.TempDir(), "pid")
	d = open(t, Options{CC: script(t, "", "sleep 300 &\necho $! > "+pid+"\n"+need.Compiler(t)+` "$@"`)})
	load(t, d, addPlan("daemon_test", 1, 3))
	text, err := os.ReadFile(pid)
	require.NoError(t, err)
	child, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(child, syscall.SIGKILL))
}

// run plays the addition, as a new process would, and returns how many kernels were compiled and found.
func run(t *testing.T, o Options, name string) (compiled, fromDisk int) {
	t.Helper()
	forget()
	d := open(t, o)
	l := load(t, d, addPlan(name, 1, 3))
	out := alloc(t, d, 12)
	require.NoError(t, d.Play(l, []runtime.Mem{out, put(t, d, 1, 2, 3), put(t, d, 1, 1, 1)}, nil))
	require.Equal(t, []float32{2, 3, 4}, get(t, d, out))
	return d.Stats().Compiled, d.Stats().FromDisk
}

// Whatever happens to a file of the cache, it is compiled again, and found the next time.
func TestDamagedCache(t *testing.T) {
	dir := t.TempDir()
	compiled, _ := run(t, Options{CacheDir: dir}, "damage_test")
	require.Equal(t, 1, compiled)
	for what, damage := range map[string]func(b []byte) []byte{
		"empty":    func([]byte) []byte { return nil },
		"half":     func(b []byte) []byte { return b[:len(b)/2] },
		"start":    func(b []byte) []byte { b[0] ^= 1; return b },
		"middle":   func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"end":      func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"garbage":  func([]byte) []byte { return bytes.Repeat([]byte("garbage\n"), 1000) },
		"appended": func(b []byte) []byte { return append(b, "x"...) },
		"gone":     nil,
	} {
		for _, ending := range []string{libraryExt, indexExt, "key"} {
			index, library := kept(t, dir, add("damage_test", 1, 3))
			file := map[string]string{libraryExt: library, indexExt: index, "key": filepath.Join(dir, "key")}[ending]
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, os.Remove(file)) // the old one may be mapped
			if damage != nil {
				require.NoError(t, os.WriteFile(file, damage(text), 0o600))
			}
			compiled, fromDisk := run(t, Options{CacheDir: dir}, "damage_test")
			require.Equal(t, []int{1, 0}, []int{compiled, fromDisk}, "%s %s", what, ending)
			compiled, fromDisk = run(t, Options{CacheDir: dir}, "damage_test")
			require.Equal(t, []int{0, 1}, []int{compiled, fromDisk}, "%s %s", what, ending)
		}
	}
}

// A folder that has the name of an entry goes, whether or not the other files tell of it.
func TestFoldersInTheCache(t *testing.T) {
	dir := t.TempDir()
	run(t, Options{CacheDir: dir}, "folder_test")
	for _, pattern := range []string{"*" + libraryExt, "*" + indexExt} {
		for _, others := range []bool{true, false} {
			files, err := filepath.Glob(filepath.Join(dir, "*.*"))
			require.NoError(t, err)
			for _, file := range files {
				folder, err := filepath.Match(pattern, filepath.Base(file))
				require.NoError(t, err)
				if folder || !others {
					require.NoError(t, os.Remove(file))
				}
				if folder {
					require.NoError(t, os.MkdirAll(filepath.Join(file, "within"), 0o700))
				}
			}
			compiled, fromDisk := run(t, Options{CacheDir: dir}, "folder_test")
			require.Equal(t, []int{1, 0}, []int{compiled, fromDisk}, "%s, others there: %v", pattern, others)
			compiled, fromDisk = run(t, Options{CacheDir: dir}, "folder_test")
			require.Equal(t, []int{0, 1}, []int{compiled, fromDisk}, "%s, others there: %v", pattern, others)
		}
	}
}

// What the cache does not take is used all the same, which is said.
func TestCacheThatTakesNothing(t *testing.T) {
	elsewhere, err := os.MkdirTemp("/dev/shm", "weft-test-")
	need.Device(t, "CPU", err) // CI has a second file system
	t.Cleanup(func() { _ = os.RemoveAll(elsewhere) })
	dir := t.TempDir()
	probe := filepath.Join(dir, "probe")
	require.NoError(t, os.WriteFile(probe, nil, 0o600))
	if os.Rename(probe, filepath.Join(elsewhere, "probe")) == nil {
		need.Device(t, "CPU", errors.New("the folders are on one file system"))
	}
	require.NoError(t, os.Remove(probe))
	var said []string
	moves := "[ -h " + dir + "/tmp ] || { cp -a " + dir + "/tmp/. " + elsewhere + " && mv " + dir + "/tmp " + dir + "/was && ln -s " + elsewhere + " " + dir + "/tmp; }\n" +
		"cd " + dir + "/tmp/${PWD##*/} && exec " + need.Compiler(t) + ` "$@"`
	o := Options{CacheDir: dir, CC: script(t, "", moves), Log: func(line string) { said = append(said, line) }}
	compiled, _ := run(t, o, "not_taken_test")
	require.Equal(t, 1, compiled)
	require.Len(t, said, 1)
	require.Contains(t, said[0], "CPU: compiled kernels are not kept")
	left, err := os.ReadDir(elsewhere)
	require.NoError(t, err)
	require.Empty(t, left)
}

// A library that somebody else compiled is not loaded, under its own hash or not, whatever the index says.
func TestForeignCache(t *testing.T) {
	mine, theirs := t.TempDir(), t.TempDir()
	loaded := filepath.Join(t.TempDir(), "loaded")
	evil := "printf '\\n#include <stdio.h>\\n__attribute__((constructor)) static void run(void) { fclose(fopen(\"" + loaded + "\", \"w\")); }\\n' >> kernels.c\n" +
		"exec " + need.Compiler(t) + ` "$@"`
	cc := script(t, "", evil)
	compiled, _ := run(t, Options{CacheDir: theirs, CC: cc}, "foreign_test")
	require.Equal(t, 1, compiled)
	require.FileExists(t, loaded, "it runs where it is at home")
	require.NoError(t, os.Remove(loaded))
	require.NoError(t, os.WriteFile(cc, []byte(strings.Replace(readAll(t, cc), evil, `exec `+need.Compiler(t)+` "$@"`, 1)), 0o755))

	compiled, _ = run(t, Options{CacheDir: mine, CC: cc}, "foreign_test")
	require.Equal(t, 1, compiled)
	files, err := filepath.Glob(filepath.Join(theirs, "*.*"))
	require.NoError(t, err)
	require.Len(t, files, 3)  // a library, and what points to it for the kernel and for the threads
	for _, f := range files { // all but the key, under the same names
		require.NoError(t, os.WriteFile(filepath.Join(mine, filepath.Base(f)), []byte(readAll(t, f)), 0o600))
	}
	compiled, fromDisk := run(t, Options{CacheDir: mine, CC: cc}, "foreign_test")
	require.Equal(t, []int{1, 0}, []int{compiled, fromDisk})
	require.NoFileExists(t, loaded)
}

func readAll(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// Without a folder to keep kernels in, or when its disk fills, they are compiled in a temporary folder, which is said once
// and leaves nothing.
func TestNothingIsKept(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	var said []string
	o := Options{Log: func(line string) { said = append(said, line) }}
	play := func(name string, o Options) {
		t.Helper()
		said = nil
		forget()
		o.Prelude = prelude
		dev, err := Open(o)
		require.NoError(t, err)
		defer dev.Close()
		d := dev.(*Device)
		for _, n := range []string{name + "_1", name + "_2"} {
			l := load(t, d, addPlan(n, 1, 3))
			out := alloc(t, d, 12)
			require.NoError(t, d.Play(l, []runtime.Mem{out, put(t, d, 1, 2, 3), put(t, d, 1, 1, 1)}, nil))
			require.Equal(t, []float32{2, 3, 4}, get(t, d, out))
		}
		require.Len(t, said, 1)
		require.Contains(t, said[0], "CPU: compiled kernels are not kept")
		left, err := os.ReadDir(temp)
		require.NoError(t, err)
		require.Empty(t, left)
	}
	need.Compiler(t)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, home := range map[string]string{"unset": "", "file": file, "below": filepath.Join(file, "x")} {
		t.Setenv("HOME", home)
		t.Setenv("XDG_CACHE_HOME", "")
		play("home_"+name, o)
	}
	dir := t.TempDir() // a compiler whose disk is full there and only there
	o.CacheDir = dir
	o.CC = script(t, "", "case \"$PWD\" in "+dir+"*) echo 'kernels.c: error: No space left on device' >&2; exit 1;; esac\nexec "+need.Compiler(t)+` "$@"`)
	play("full", o)
	require.Contains(t, said[0], "No space left on device")
	require.Equal(t, []string{"key"}, filesIn(t, dir))

	t.Setenv("HOME", "")
	t.Setenv("TMPDIR", filepath.Join(temp, "nothing"))
	d, err := Open(Options{Prelude: prelude})
	require.NoError(t, err)
	defer d.Close()
	_, err = d.Load(context.Background(), addPlan("nowhere_test", 1, 3))
	require.ErrorContains(t, err, "there is no folder to compile in")
	require.ErrorContains(t, err, "TMPDIR")
}
