// Command weft lists devices, trains the digit network, measures, exports, and runs models of others: the parts of Weft that a
// person runs. Results go to standard output, everything else to standard error; the exit code
// is 0 for success, 1 for a failure, 2 for a call that makes no sense (usageError says which do) and 130 when interrupted.
//
// It knows how to read flags, the environment and a terminal, and leaves the rest to the packages
// below it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"unicode"

	"github.com/spf13/cobra"

	_ "github.com/weft-ml/weft/backends/webgpu"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/engine/choose"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/viz"
)

// Exit codes.
const (
	exitFailure     = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// usageError is a call that makes no sense, as opposed to a failure of a sensible one: a command or flag that does not exist, a number of
// arguments, a value that a flag does not take (flags.go), or one that does not go with the others or with what a file has. A file
// that is missing or damaged is a failure.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func main() {
	wait := viz.Open()
	code := interruptible(os.Stderr, func(ctx context.Context) int {
		return run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	})
	if code == 0 {
		signal.Reset(syscall.SIGTERM, hangup) // which nobody waits for any more
		wait()
	}
	os.Exit(code)
}

// run is the whole program as a function of its arguments, its environment and its outputs.
func run(ctx context.Context, args []string, getenv func(string) string, out, log io.Writer) int {
	told := &results{to: out}
	root := rootCommand(getenv, told, log)
	root.SetArgs(args)
	root.SetOut(told)
	root.SetErr(log)
	var err error
	// What building a graph panics with, such as a device without memory for it, is an error here.
	if failed := tensor.Try(func() { err = root.ExecuteContext(ctx) }); failed != nil {
		err = failed
	}
	if err == nil {
		err = told.err
	}
	var usage usageError
	var unknown *engine.UnknownDevice
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		fmt.Fprintln(log, "weft: interrupted")
		return exitInterrupted
	case errors.As(err, &usage) || errors.As(err, &unknown):
		fmt.Fprintf(log, "weft: %s\n", lines(err))
		return exitUsage
	}
	fmt.Fprintf(log, "weft: %s\n", lines(err))
	return exitFailure
}

// lines are those of an error, without what a terminal would obey: errors name what stands in files.
func lines(err error) string {
	var out strings.Builder
	for _, r := range err.Error() {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			fmt.Fprintf(&out, `\x%02x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// results are what a command prints, and what was wrong with the printing: one whose results were lost has failed, whether or not it looks.
type results struct {
	to  io.Writer
	err error // the first
}

func (r *results) Write(b []byte) (int, error) {
	n, err := r.to.Write(b)
	if err != nil && r.err == nil {
		r.err = err
	}
	return n, err
}

func rootCommand(getenv func(string) string, out, log io.Writer) *cobra.Command {
	p := &program{getenv: getenv, out: out, log: log}
	root := &cobra.Command{
		Use:           "weft",
		Short:         "A small tensor compiler",
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          sensible(cobra.NoArgs),
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
		Long: `Weft turns tensor programs into few fused kernels and runs them.

Environment: DEV=name picks the device, without it the fastest is found out; WEFT_THREADS=n and WEFT_MEM=64M limit it; CC is the C
compiler; WEFT_CACHE is the folder of compiled kernels; DEBUG=1…6 shows the work, VIZ=1 how plans come about, in a browser; UNCHECKED=1 leaves
wrong indices and classes untold; NOOPT=1 turns optimisation off; BEAM=4 searches for faster kernels by the clock.`,
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%w; see %s --help", err, c.CommandPath())
	})
	train := &cobra.Command{
		Use: "train", Short: "Train a network", Args: sensible(cobra.NoArgs),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	train.AddCommand(trainMNISTCommand(p))
	root.AddCommand(devicesCommand(p), train, benchCommand(p), tuneCommand(p), chatCommand(p), serveCommand(p), exportCommand(p), showModelCommand(p), runModelCommand(p), convertCommand(p), vizCommand(p))
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Args = topic
	return root
}

// version says what this program was built of: the version of the module, or where it has none the commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "(devel)"
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v = s.Value
			}
		}
	}
	return fmt.Sprintf("%s %s %s/%s", v, info.GoVersion, runtime.GOOS, runtime.GOARCH)
}

// topic marks help about a command that does not exist as a usage error.
func topic(c *cobra.Command, args []string) error {
	if _, rest, err := c.Root().Find(args); err != nil || len(rest) > 0 {
		return usagef("unknown help topic %q; see %s --help", strings.Join(args, " "), c.Root().Name())
	}
	return nil
}

// sensible marks a wrong number of arguments, or a command that does not exist, as a usage error.
func sensible(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			if c.HasSubCommands() {
				c.SuggestionsMinimumDistance = 2 // letters
				if near := c.SuggestionsFor(args[0]); len(near) > 0 {
					err = fmt.Errorf("%w (is %s meant?)", err, strings.Join(near, " or "))
				}
			}
			return usagef("%w; see %s --help", err, c.CommandPath())
		}
		return nil
	}
}

// program is what the commands share.
type program struct {
	getenv   func(string) string
	out, log io.Writer
}

// open opens the device a command asked for, with the settings of the environment.
func (p *program) open(ctx context.Context, device string) (*engine.Engine, error) {
	return p.openFor(ctx, device, choose.Work{})
}

// openFor opens a device for some work, which decides where no device was asked for.
func (p *program) openFor(ctx context.Context, device string, work choose.Work) (*engine.Engine, error) {
	return p.openHearing(ctx, device, work, nil)
}

// openHearing opens a device for some work that tells of each launch; nil: of none.
func (p *program) openHearing(ctx context.Context, device string, work choose.Work, launched func(k *plan.Kernel, seconds float64)) (*engine.Engine, error) {
	o, dev, err := settings(p.getenv, p.log)
	if err != nil {
		return nil, err
	}
	if device != "" {
		dev = device
	}
	o.Work, o.Launched = work, launched
	engine.Configure(o, dev)
	return engine.UseContext(ctx, dev)
}
