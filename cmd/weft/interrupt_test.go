//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/safetensors"
	need "github.com/weft-ml/weft/tests/require"
)

// TestMain is the command itself where a test starts it as a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv("WEFT_TEST_COMMAND") == "" {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // also where tests run with nohup, whose programs ignore it
		os.Exit(m.Run())
	}
	main()
}

// spoken is what a program has printed so far.
type spoken struct {
	sync.Mutex
	text bytes.Buffer
}

func (s *spoken) Write(b []byte) (int, error) {
	s.Lock()
	defer s.Unlock()
	return s.text.Write(b)
}

func (s *spoken) String() string {
	s.Lock()
	defer s.Unlock()
	return s.text.String()
}

// Ctrl-C ends the program in each phase, with a line and code 130; the compiler goes with it, and no file is half written.
func TestInterruptInEachPhase(t *testing.T) {
	dir := t.TempDir()
	reached, model := filepath.Join(dir, "reached"), filepath.Join(dir, "model", "m.safetensors")
	require.NoError(t, os.Mkdir(filepath.Dir(model), 0o700))
	cc := func(name, probe, kernels string) string {
		path := filepath.Join(dir, name)
		text := "#!/bin/sh\ncase \"$*\" in *kernels.c*) " + kernels + ";; *) " + probe + ";; esac\n"
		require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
		return path
	}
	pictures := writeDigits(t, 20, 28, 28)
	real := "exec " + need.Compiler(t) + ` "$@"`
	hang := "echo > " + reached + "; trap '' INT TERM; sleep 300 & wait; sleep 300"
	file := func() bool { _, err := os.Stat(reached); return err == nil }
	for _, c := range []struct {
		phase, device, cc string
		said              string // on standard error, when it is time
		twice, saves      bool
	}{
		{"probe", "CPU", cc("probe", hang, real), "", false, false},
		{"probe of the default", "", cc("probe", hang, real), "", false, false},
		{"compile", "CPU", cc("compile", real, hang), "", false, false},
		{"run", "INTERP", "", "step ", false, true},
		{"again", "REF", "", "device REF", true, false},
	} {
		_ = os.Remove(reached)
		cmd := exec.Command(os.Args[0], "train", "mnist", "--steps", "100000", "--batch", "4", "--data", pictures, "--save", model)
		cmd.Env = append(os.Environ(), "WEFT_TEST_COMMAND=1", "DEV="+c.device, "CC="+c.cc, "WEFT_CACHE="+filepath.Join(dir, "cache"))
		said := &spoken{}
		cmd.Stdout, cmd.Stderr = said, said
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as a terminal would, but for the signal to all
		require.NoError(t, cmd.Start())
		ready := func() bool { return c.said == "" && file() || c.said != "" && strings.Contains(said.String(), c.said) }
		if !assert.Eventually(t, ready, 5*time.Minute, 10*time.Millisecond, "%s: %s", c.phase, said) {
			_ = cmd.Process.Kill()
		}
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		if c.twice {
			time.Sleep(50 * time.Millisecond)
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
		}
		kill := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		kill.Stop()
		assert.Equal(t, exitInterrupted, cmd.ProcessState.ExitCode(), "%s: %s", c.phase, said)
		assert.True(t, strings.HasSuffix(said.String(), "weft: interrupted\n"), "%s: %q", c.phase, said)
		left, err := os.ReadDir(filepath.Dir(model))
		require.NoError(t, err)
		if !c.saves {
			assert.Empty(t, left, c.phase)
			continue
		}
		assert.Regexp(t, `(?m)^saved to .*m.safetensors after \d+ of 100000 steps$`, said.String(), c.phase)
		f, err := safetensors.Open(model)
		require.NoError(t, err, c.phase)
		assert.Contains(t, f.Names(), "conv1.weight", c.phase)
		require.NoError(t, f.Close())
		assert.Len(t, left, 1, c.phase)
		require.NoError(t, os.Remove(model))
	}
}

// What was trained is saved once the step that an interrupt comes in is done, and by a save that goes on behind it.
func TestInterruptedTraining(t *testing.T) {
	for _, c := range []struct {
		step, want int
		save       string
		err        error
	}{{1, 0, "x", context.Canceled}, {3, 3, "x", context.Canceled}, {3, 0, "", context.Canceled}, {5, 5, "x", context.Canceled}} {
		ctx, cancel := context.WithCancel(context.Background())
		net := &interruptedParrot{parrot: parrot{losses: []float64{1}}, step: c.step, cancel: cancel}
		var log bytes.Buffer
		_, _, err := (&program{out: &log, log: &log}).learn(ctx, net, tinySet(8), trainOptions{Steps: 5, Batch: 4, Save: c.save})
		assert.ErrorIs(t, err, c.err)
		assert.Equal(t, c.want, net.saved, "interrupted in step %d", c.step)
		assert.Equal(t, c.want > 0, strings.Contains(log.String(), fmt.Sprintf("saved to x after %d of 5 steps", c.want)))
		cancel()
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var log bytes.Buffer
	net := &interruptedParrot{parrot: parrot{losses: []float64{1}}, step: 3, cancel: cancel, full: errors.New("no space left")}
	_, _, err := (&program{out: &log, log: &log}).learn(ctx, net, tinySet(8), trainOptions{Steps: 5, Batch: 4, Save: "x"})
	assert.ErrorIs(t, err, net.full)
	assert.Contains(t, log.String(), "weft: no space left\n", "an interrupted program says no more than that it was interrupted")
}

// interruptedParrot is interrupted in one of its steps.
type interruptedParrot struct {
	parrot
	step, saved int
	cancel      func()
	full        error // what saving fails with
}

func (p *interruptedParrot) Step(ctx context.Context, batch []int32) (float64, error) {
	if p.seen+1 == p.step {
		p.cancel()
	}
	loss, _ := p.parrot.Step(ctx, batch)
	return loss, ctx.Err()
}

func (p *interruptedParrot) Save(ctx context.Context, _ string) error {
	p.saved = p.seen
	return errors.Join(p.full, ctx.Err())
}

// While it saves, the file is the old one or the new one.
func TestInterruptedSave(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.safetensors")
	old := []safetensors.Entry{{Name: "old", DType: "U8", Shape: []int64{3}, Data: []byte{1, 2, 3}}}
	require.NoError(t, safetensors.Write(model, old, nil))
	ctx, cancel := context.WithCancel(context.Background())
	net := &slowSaver{parrot{losses: []float64{1}}, model, cancel}
	var log bytes.Buffer
	set := tinySet(8)
	p := &program{out: &log, log: &log}
	_, _, err := p.learn(ctx, net, set, trainOptions{Steps: 2, Batch: 4})
	require.NoError(t, err)
	require.ErrorIs(t, net.Save(ctx, model), context.Canceled)
	f, err := safetensors.Open(model)
	require.NoError(t, err)
	defer f.Close()
	assert.Equal(t, []string{"old"}, f.Names())
	left, err := os.ReadDir(filepath.Dir(model))
	require.NoError(t, err)
	assert.Len(t, left, 1)
}

// slowSaver is interrupted while it saves.
type slowSaver struct {
	parrot
	path   string
	cancel func()
}

func (s *slowSaver) Save(ctx context.Context, path string) error {
	big := []safetensors.Entry{{Name: "new", DType: "U8", Shape: []int64{16 << 20}, Data: make([]byte, 16<<20)}}
	return safetensors.WriteContext(&asked{ctx, path, s.cancel}, path, big, nil)
}

// asked is a context that is cancelled once there is something beside the file that is not whole.
type asked struct {
	context.Context
	path   string
	cancel func()
}

func (a *asked) Err() error {
	if left, _ := os.ReadDir(filepath.Dir(a.path)); len(left) > 1 {
		a.cancel()
	}
	return a.Context.Err()
}

// VIZ=1 waits where there is something to show, and every signal ends the waiting.
func TestShownUntilTold(t *testing.T) {
	begin := func(args ...string) (*exec.Cmd, *spoken) {
		cmd, said := exec.Command(os.Args[0], args...), &spoken{}
		cmd.Env = append(os.Environ(), "WEFT_TEST_COMMAND=1", "VIZ=1")
		cmd.Stdout, cmd.Stderr = said, said
		require.NoError(t, cmd.Start())
		kill := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		t.Cleanup(func() { kill.Stop() })
		return cmd, said
	}
	cmd, said := begin("--help")
	require.NoError(t, cmd.Wait(), "%s", said)
	assert.Contains(t, said.String(), "there is no plan to show")
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		cmd, said := begin("bench", "chain-1m", "--device", "NULL")
		require.Eventually(t, func() bool { return strings.Contains(said.String(), "until interrupted") }, time.Minute, 10*time.Millisecond, "%s", said)
		time.Sleep(50 * time.Millisecond) // it says so before it listens
		require.NoError(t, cmd.Process.Signal(s))
		_ = cmd.Wait()
		status := cmd.ProcessState.Sys().(syscall.WaitStatus)
		assert.False(t, status.Signaled() && status.Signal() == syscall.SIGKILL, "%v does not end it: %s", s, said)
	}
}

// A program that does not end by itself is ended, and one that does says what it wants.
func TestInterruptible(t *testing.T) {
	assert.Equal(t, 3, interruptible(os.Stderr, func(context.Context) int { return 3 }))
	var log bytes.Buffer
	begin := make(chan struct{})
	go func() {
		<-begin
		_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
	}()
	code := interruptible(&log, func(ctx context.Context) int {
		close(begin)
		<-ctx.Done()
		return 7
	})
	assert.Equal(t, 7, code)
	assert.Empty(t, log.String())
	code = interruptible(&log, func(ctx context.Context) int {
		_ = syscall.Kill(os.Getpid(), syscall.SIGHUP) // the terminal was closed
		<-ctx.Done()
		return 8
	})
	assert.Equal(t, 8, code)
	code = interruptible(&log, func(ctx context.Context) int {
		_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
		<-ctx.Done()
		_ = syscall.Kill(os.Getpid(), syscall.SIGINT) // the second
		select {}
	})
	assert.Equal(t, exitInterrupted, code)
	assert.Equal(t, "weft: interrupted\n", log.String())

	was := patience
	patience = 100 * time.Millisecond
	defer func() { patience = was }()
	for _, again := range []bool{false, true} {
		log.Reset()
		code = interruptible(&log, func(ctx context.Context) int {
			defer unhurried(ctx, "it is saved")()
			_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
			<-ctx.Done()
			time.Sleep(250 * time.Millisecond)
			if again {
				_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
				select {}
			}
			return 7
		})
		assert.Equal(t, map[bool]int{false: 7, true: exitInterrupted}[again], code)
		assert.True(t, strings.HasPrefix(log.String(), "weft: interrupted: it is saved; a second interrupt ends at once\n"), log.String())
	}
}
