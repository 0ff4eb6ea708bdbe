// Command peers measures everyday tensor programs in Weft, on the CPU, beside PyTorch, JAX and ONNX Runtime, in one run.
//
//	go run ./tests/peers                       everything; -write docs writes docs/performance.md: make bench-peers
//	go run ./tests/peers -only products        a group, or cases whose names contain this; several with commas
//	go run ./tests/peers -again -write docs    writes the document of the last whole run anew, without measuring
//	go run ./tests/peers -gpu                  on the graphics processor: WebGPU beside PyTorch with CUDA
//
// The others come from PyPI, at exact versions, into the user's cache folder. The cases are those of weft bench; this
// program knows which of them are compared and what came out, and python/ knows how each library does them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// options are what the command line says.
type options struct {
	only    string
	rounds  int
	ms      float64 // of a turn
	threads int
	python  string // with the libraries, instead of installing them
	weft    string // a built weft, instead of a fresh one
	write   string // folder of the document; none: it is not written
	again   bool
	with    string // of the others only this one
	gpu     bool   // Weft on WEBGPU beside PyTorch on CUDA, instead of all on the CPU
}

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "measure only this: groups, or cases whose names contain it; several with commas")
	flag.IntVar(&o.rounds, "rounds", 5, "rounds in which everyone has a turn")
	flag.Float64Var(&o.ms, "ms", 200, "milliseconds of a turn")
	flag.IntVar(&o.threads, "threads", 2, "threads for everyone")
	flag.StringVar(&o.python, "python", "", "Python that has the other libraries, instead of installing them")
	flag.StringVar(&o.weft, "weft", "", "a built weft, instead of building it")
	flag.StringVar(&o.write, "write", "", "folder for performance.md and its plots")
	flag.BoolVar(&o.again, "again", false, "do not measure, take the last whole run")
	flag.StringVar(&o.with, "with", "", "measure beside this library only, such as \"ONNX Runtime\"; with -only")
	flag.BoolVar(&o.gpu, "gpu", false, "measure WEBGPU beside PyTorch with CUDA, in float32, instead of the CPU")
	flag.Parse()
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// wants says whether -only names a group or a case.
func (o options) wants(group, name string) bool {
	if o.only == "" {
		return true
	}
	for _, w := range strings.Split(o.only, ",") {
		w = strings.TrimSpace(w)
		if w == group || w != "" && strings.Contains(name, w) {
			return true
		}
	}
	return false
}

// checkWith says what is wrong with the flag -with.
func (o options) checkWith() error {
	if o.with == "" {
		return nil
	}
	var names []string
	for _, lib := range libraries[1:] {
		names = append(names, lib.name)
	}
	if !slices.Contains(names, o.with) || o.only == "" && !o.gpu {
		return fmt.Errorf("-with %q: it goes with -only or -gpu, and is one of %s", o.with, strings.Join(names, ", "))
	}
	return nil
}

// takes says whether a library has turns.
func (o options) takes(name, module string) bool {
	switch {
	case module == "":
		return true
	case o.gpu && module != "torch" && module != "compiled":
		return false
	}
	return o.with == "" || o.with == name
}

func run(ctx context.Context, o options) error {
	if o.again {
		if o.write == "" {
			return errors.New("-again needs -write, the folder of the document")
		}
		r, err := lastRun(o.gpu)
		if err != nil {
			return err
		}
		return r.write(o.write)
	}
	if o.only != "" && o.write != "" {
		return errors.New("the document is of a whole run: -write and -only exclude each other")
	}
	if err := o.checkWith(); err != nil {
		return err
	}
	if o.rounds < 1 || o.threads < 1 {
		return errors.New("at least one round and one thread")
	}
	s, err := newStarter(o)
	if err != nil {
		return err
	}
	defer s.end()
	ws, single, err := s.start(ctx)
	if err != nil {
		return err
	}
	defer append(ws, single...).stop()
	r, err := measure(o, ws, first(single))
	if err != nil {
		return err
	}
	if err := r.measureMemory(ctx, s); err != nil {
		return err
	}
	fmt.Print(r.summary())
	if wrong := r.wrong(); len(wrong) > 0 {
		return fmt.Errorf("%d results are wrong or missing:\n  %s", len(wrong), strings.Join(wrong, "\n  "))
	}
	if o.only != "" {
		return nil
	}
	if err := r.keep(); err != nil {
		return err
	}
	if o.write == "" {
		return nil
	}
	return r.write(o.write)
}

func first(ws workers) *worker {
	if len(ws) == 0 {
		return nil
	}
	return ws[0]
}

// starter starts processes of the libraries.
type starter struct {
	o            options
	dir          string // of what was built for this run
	weft, python string
	script       string
}

func newStarter(o options) (s *starter, err error) {
	s = &starter{o: o, weft: o.weft, python: o.python}
	if s.python == "" {
		if s.python, err = install(); err != nil {
			return nil, err
		}
	}
	if s.script, err = scripts(); err != nil {
		return nil, err
	}
	if s.weft != "" {
		return s, nil
	}
	if s.dir, err = os.MkdirTemp("", "weft-peers-"); err != nil {
		return nil, err
	}
	s.weft = filepath.Join(s.dir, "weft")
	if out, err := exec.Command("go", "build", "-o", s.weft, "./cmd/weft").CombinedOutput(); err != nil {
		s.end()
		return nil, fmt.Errorf("build weft, from the folder of the repository: %w\n%s", err, out)
	}
	return s, nil
}

// end removes what was built.
func (s *starter) end() {
	if s.dir != "" {
		os.RemoveAll(s.dir)
	}
}

// worker starts a process under a name.
func (s *starter) worker(ctx context.Context, name, module string, threads int, more ...string) (*worker, error) {
	cmd := exec.CommandContext(ctx, s.python, s.script, module, fmt.Sprint(threads))
	switch {
	case module == "":
		cmd = exec.CommandContext(ctx, s.weft, append([]string{"bench", "--turns", "--device", map[bool]string{false: "CPU", true: "WEBGPU"}[s.o.gpu]}, more...)...)
	case s.o.gpu:
		cmd.Args = append(cmd.Args, "cuda")
	}
	return newWorker(name, cmd, threads)
}

// start brings up Weft and a process for each library; and, on the processor, one of Weft on one thread.
func (s *starter) start(ctx context.Context) (ws, single workers, err error) {
	defer func() {
		if err != nil {
			append(ws, single...).stop()
		}
	}()
	for _, lib := range libraries {
		if !s.o.takes(lib.name, lib.module) {
			continue
		}
		w, err := s.worker(ctx, lib.name, lib.module, s.o.threads)
		if err != nil {
			return ws, single, err
		}
		ws = append(ws, w)
	}
	if !s.o.gpu {
		w, err := s.worker(ctx, aloneName, "", 1, "--launches")
		if err != nil {
			return ws, single, err
		}
		single = workers{w}
	}
	for _, w := range append(ws, single...) { // they start at once and answer when they are ready
		if w.about, err = w.ask(order{Do: "list"}, time.Minute*5); err != nil {
			return ws, single, err
		}
	}
	return ws, single, nil
}
