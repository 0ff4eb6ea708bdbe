//go:build unix

package native

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// inGroup lists the living processes of a group.
func inGroup(group int) (pids []string) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	if stats == nil && syscall.Kill(-group, 0) == nil {
		return []string{"some"} // there is no /proc to say which
	}
	for _, file := range stats {
		stat, _ := os.ReadFile(file)
		if _, after, ok := strings.Cut(string(stat), ") "); ok {
			if f := strings.Fields(after); f[0] != "Z" && f[2] == strconv.Itoa(group) { // state, parent, group
				pids = append(pids, filepath.Base(filepath.Dir(file)))
			}
		}
	}
	return pids
}

// A process that dies while its compiler runs, in any way, takes all with it that the compiler has started.
func TestCompilerEndsWithTheProcess(t *testing.T) {
	if cc := os.Getenv("WEFT_TEST_COMPILER_HANGS"); cc != "" {
		if pidFile := os.Getenv("WEFT_TEST_PANICS"); pidFile != "" {
			go func() {
				for _, err := os.Stat(pidFile); err != nil; _, err = os.Stat(pidFile) {
					time.Sleep(5 * time.Millisecond)
				}
				panic("as the test wants it")
			}()
		}
		d := open(t, Options{CC: cc, CacheDir: os.Getenv("WEFT_TEST_PROCESS_CACHE")})
		_, err := d.Load(context.Background(), addPlan("orphan_test", 1, 3))
		t.Fatal("it does not hang: ", err)
	}
	for what, sent := range map[string]os.Signal{"kill": syscall.SIGKILL, "term": syscall.SIGTERM, "ctrl-c": os.Interrupt, "panic": nil} {
		pidFile := filepath.Join(t.TempDir(), "pid")
		cmd := exec.Command(os.Args[0], "-test.run=^TestCompilerEndsWithTheProcess$")
		cmd.Env = append(os.Environ(), "WEFT_TEST_COMPILER_HANGS="+script(t, "", hang(pidFile)), "WEFT_TEST_PROCESS_CACHE="+t.TempDir())
		if sent == nil {
			cmd.Env = append(cmd.Env, "WEFT_TEST_PANICS="+pidFile)
		}
		require.NoError(t, cmd.Start())
		require.Eventually(t, func() bool { _, err := os.Stat(pidFile); return err == nil }, time.Minute, 5*time.Millisecond, what)
		pid, err := strconv.Atoi(strings.TrimSpace(readAll(t, pidFile)))
		require.NoError(t, err)
		group, err := syscall.Getpgid(pid)
		require.NoError(t, err)
		require.NotEqual(t, syscall.Getpgrp(), group, "it is a group of its own")
		t.Cleanup(func() { _ = syscall.Kill(-group, syscall.SIGKILL) })
		if sent != nil {
			require.NoError(t, cmd.Process.Signal(sent))
		}
		require.Error(t, cmd.Wait())
		require.Eventually(t, func() bool { return len(inGroup(group)) == 0 }, 5*time.Second, 5*time.Millisecond, "%s: processes live", what)
	}
}

// Once a compiler is done nothing of its group is left in this process's care, however it ended.
func TestNothingWatchesForEver(t *testing.T) {
	pid := filepath.Join(t.TempDir(), "pid")
	for _, does := range []string{"", "exit 1", "kill -9 $$"} {
		d := open(t, Options{CC: script(t, "", "echo $$ > "+pid+"\n"+does)})
		_, _ = d.Load(context.Background(), addPlan("watched_test", 1, 3))
		children, _ := filepath.Glob("/proc/[0-9]*/stat")
		for _, file := range children {
			stat, _ := os.ReadFile(file)
			if _, after, ok := strings.Cut(string(stat), ") "); ok {
				require.NotEqual(t, strconv.Itoa(os.Getpid()), strings.Fields(after)[1], "%q leaves a child: %s", does, stat)
			}
		}
	}
}

// Where there is no shell a compiler still ends, with all it started, when nobody waits for it any more.
func TestCompilerWithoutShell(t *testing.T) {
	was := shell
	shell = "/no/such/sh"
	defer func() { shell = was }()
	run(t, Options{CacheDir: t.TempDir()}, "shell_test")
	pid := filepath.Join(t.TempDir(), "pid")
	d := open(t, Options{CC: script(t, "", hang(pid))})
	_, err := d.Load(cancelledOnce(t, pid), addPlan("no_shell_test", 1, 3))
	require.ErrorIs(t, err, context.Canceled)
	gone(t, pid)
}

// BenchmarkWatched tells what watching costs a run of the compiler.
func BenchmarkWatched(b *testing.B) {
	was := shell
	defer func() { shell = was }()
	for name, path := range map[string]string{"watched": was, "alone": "/no/such/sh"} {
		b.Run(name, func(b *testing.B) {
			shell = path
			for b.Loop() {
				assert.NoError(b, runGroup(exec.CommandContext(context.Background(), "/bin/true")))
			}
		})
	}
}
