//go:build linux || darwin

package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/nn"
	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
)

// parts are what a child may do; each prints what it has to say and ends with an error.
var parts = map[string]func() error{
	"compute": func() error { return compute(0) },
	"kernels": kernels,
	"save":    save,
	"once":    saveOnce,
	"much":    much,
}

func TestMain(m *testing.M) {
	part := parts[os.Getenv("WEFT_FAULT")]
	if part == nil {
		os.Exit(m.Run())
	}
	for name, resource := range map[string]int{"WEFT_FAULT_FILE": syscall.RLIMIT_FSIZE, "WEFT_FAULT_ADDRESSES": syscall.RLIMIT_AS} {
		n, err := strconv.ParseUint(os.Getenv(name), 10, 63)
		if err != nil {
			continue
		}
		signal.Ignore(syscall.SIGXFSZ) // else it ends the process; compilers inherit that
		limit := syscall.Rlimit{Cur: n, Max: n}
		if err := syscall.Setrlimit(resource, &limit); err != nil {
			fmt.Println(err)
			os.Exit(3)
		}
	}
	engine.Configure(engine.Options{CacheDir: os.Getenv("WEFT_FAULT_CACHE"), Log: os.Stdout, Threads: 2}, os.Getenv("WEFT_FAULT_DEVICE"))
	if err := part(); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println("right")
}

// compute works out a few things, of which each number gives others.
func compute(number int) error {
	n := 3 + number
	var y *tensor.Tensor
	if err := tensor.Try(func() {
		x := tensor.Arange(n).To(dtype.F32)
		y = x.Mul(2).Add(1).Sum().Add(x.Reshape(n, 1).MatMul(x.Reshape(1, n)).Sum())
	}); err != nil {
		return err
	}
	got, err := y.Item(context.Background())
	if err != nil {
		return err
	}
	s := float64(n*(n-1)) / 2
	if want := 2*s + float64(n) + s*s; !(math.Abs(got-want) <= 1e-5*want) {
		return fmt.Errorf("WRONG: %v, not %v", got, want)
	}
	return nil
}

// kernels compiles one thing after the other until it is killed.
func kernels() error {
	from, err := strconv.Atoi(os.Getenv("WEFT_FAULT_FROM"))
	fmt.Println("begun")
	for i := from; err == nil; i++ {
		err = compute(i)
	}
	return err
}

// model is what is saved: all its numbers are the same.
type model struct{ A, B *tensor.Tensor }

func filled(v float64) *model {
	return &model{tensor.Full(v, dtype.F32, 300, 200), tensor.Full(v, dtype.F32, 70_000)}
}

func save() error {
	fmt.Println("begun")
	for i := 0; ; i++ {
		if err := nn.Save(context.Background(), os.Getenv("WEFT_FAULT_FILE_NAME"), filled(float64(i))); err != nil {
			return err
		}
	}
}

func saveOnce() error {
	return nn.Save(context.Background(), os.Getenv("WEFT_FAULT_FILE_NAME"), filled(1))
}

// much asks for more memory than there is, hears so, and goes on with less.
func much() error {
	for range 3 {
		err := tensor.Try(func() {
			err := tensor.Zeros(3, 1<<30).Own().Realize(context.Background())
			if err == nil {
				err = errors.New("BUG: there was room")
			}
			fmt.Println("said:", err)
		})
		if err != nil {
			fmt.Println("said:", err)
		}
		if err := compute(0); err != nil {
			return err
		}
	}
	return nil
}

// child prepares a part.
func child(t *testing.T, part, device, cache string, env ...string) *exec.Cmd {
	t.Helper()
	if device == "CPU" {
		need.Compiler(t)
	}
	cmd := exec.Command(os.Args[0])
	own := append(env, "WEFT_FAULT="+part, "WEFT_FAULT_DEVICE="+device, "WEFT_FAULT_CACHE="+cache)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(s string) bool {
		name, _, _ := strings.Cut(s, "=")
		return slices.ContainsFunc(own, func(o string) bool { return strings.HasPrefix(o, name+"=") })
	})
	cmd.Env = append(cmd.Env, own...)
	return cmd
}

// finish runs a part to its end.
func finish(t *testing.T, cmd *exec.Cmd) (said string, ok bool) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	late := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	err := cmd.Wait()
	late.Stop()
	require.NotContains(t, out.String(), "panic:")
	require.NotContains(t, out.String(), "fatal error:")
	require.NotContains(t, out.String(), "WRONG")
	if err != nil {
		require.Equal(t, 1, cmd.ProcessState.ExitCode(), "%v: %s", err, out.String())
	}
	return out.String(), err == nil
}
