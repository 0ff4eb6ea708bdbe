package fuzz

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/weft-ml/weft/engine"
)

// Programs run in a process of their own, since one that reads where it must not, or recurses without end, ends its
// process.

// WorkerVariable is set in the environment of a process that is to call Serve and nothing else.
const WorkerVariable = "WEFT_FUZZ_WORKER"

// job is what a worker is asked: programs by seed, or one given.
type job struct {
	Device  string
	Seeds   []uint64
	Program *Program
	Pasted  int  // from 1 on
	Explain bool // Program, and do not run it
}

type reply struct {
	Findings []Finding
	Count    Count
	Text     string // Explain
	Opened   string // why the device did not open
}

// CacheVariable names a folder for compiled kernels.
const CacheVariable = "WEFT_FUZZ_CACHE"

// maxStack is enough for graphs and ends a recursion without end soon.
const maxStack = 128 << 20

// Serve answers jobs until its input ends.
func Serve(in io.Reader, out io.Writer) error {
	debug.SetMaxStack(maxStack)
	debug.SetGCPercent(400) // programs are small and many: at 100, a third of the time goes to the collector
	cacheDir = os.Getenv(CacheVariable)
	dec, enc := gob.NewDecoder(in), gob.NewEncoder(out)
	for {
		var j job
		if err := dec.Decode(&j); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := enc.Encode(j.run()); err != nil {
			return err
		}
	}
}

func (j *job) options() Options {
	switch {
	case j.Program != nil:
		return j.Program.Options
	case j.Pasted > 0:
		return Options{}
	}
	return OptionsOf(j.Seeds[0])
}

func (j *job) run() (r reply) {
	name, err := register(j.Device, j.options())
	if err == nil {
		configure(j.options(), name)
		_, err = engine.Use("")
	}
	if err != nil {
		r.Opened = err.Error()
		return r
	}
	switch {
	case j.Explain:
		r.Text = explain(j.Program, j.Device) + "/*\n" + compiled(j.Program, j.Device) + "*/\n"
	case j.Program != nil:
		graphs()
		g, err := Expect(j.Program)
		if err != nil {
			return r
		}
		r.Findings = runTogether(j.Device, []*Generated{g}, &r.Count)
	case j.Pasted > 0:
		if what, text := runPasted(j.Device, Pastes[j.Pasted-1]); what != Right {
			r.Findings = []Finding{{Device: j.Device, What: what, Text: text}}
		}
	case len(j.Seeds) > 0:
		r.Findings = runSeeds(j.Device, j.Seeds, &r.Count)
	}
	return r
}

// Worker is a process that runs programs. It is started when it is asked, and again when it has died.
type Worker struct {
	Command []string // the program to start; it calls Serve when it sees WorkerVariable
	Env     []string // beside the own environment

	cmd  *exec.Cmd
	in   io.WriteCloser
	enc  *gob.Encoder
	dec  *gob.Decoder
	said tail
	jobs int
	last Options // all programs of a process have the same
}

// Limits of a worker: memory that is not given back, and time.
const (
	maxJobs = 60
	maxWait = 3 * time.Minute
)

// ask sends a job. A process that dies or hangs is an answer too.
func (w *Worker) ask(j job) (r reply, what What, text string, err error) {
	if o := j.options(); w.cmd == nil || w.jobs >= maxJobs || o != w.last {
		w.last = o
		w.Close()
		if err := w.start(); err != nil {
			return r, Right, "", err
		}
	}
	w.jobs++
	done := make(chan error, 1)
	go func() {
		err := w.enc.Encode(&j)
		if err == nil {
			err = w.dec.Decode(&r)
		}
		done <- err
	}()
	select {
	case err = <-done:
		if err == nil {
			return r, Right, "", nil
		}
		what = Dies
	case <-time.After(maxWait):
		what = Hangs
		_ = w.cmd.Process.Kill()
		<-done
	}
	end := w.cmd.Wait()
	w.cmd = nil
	return reply{}, what, fmt.Sprintf("%v\n%s", end, w.said.String()), nil
}

func (w *Worker) start() error {
	w.said = tail{}
	w.jobs = 0
	w.cmd = exec.Command(w.Command[0], w.Command[1:]...)
	w.cmd.Env = append(append(os.Environ(), WorkerVariable+"=1"), w.Env...)
	w.cmd.Stderr = &w.said
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	w.enc, w.dec = gob.NewEncoder(w.in), gob.NewDecoder(out)
	if err := w.cmd.Start(); err != nil {
		w.cmd = nil
		return fmt.Errorf("start a worker: %w", err)
	}
	return nil
}

// Close ends the process.
func (w *Worker) Close() {
	if w.cmd != nil {
		_ = w.in.Close()
		_ = w.cmd.Wait()
		w.cmd = nil
	}
}

// tail keeps the beginning of what a process says: the cause stands first in a trace.
type tail struct {
	mu sync.Mutex
	b  bytes.Buffer
}

const maxSaid = 6000

// Write keeps what there is room for.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b.Write(p[:min(len(p), max(0, maxSaid-t.b.Len()))])
	return len(p), nil
}

// String leaves out what says nothing about the cause.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []string
	for _, l := range strings.Split(t.b.String(), "\n") {
		if l == "" || strings.HasPrefix(l, "error: XDG_RUNTIME_DIR") {
			continue
		}
		if out = append(out, l); len(out) == 30 {
			break
		}
	}
	return strings.Join(out, "\n")
}

// NoDevice says that a device does not open.
type NoDevice struct{ Device, Why string }

func (e *NoDevice) Error() string { return e.Device + ": " + e.Why }

// Seeds runs programs on a device, and finds the ones that end the process.
func (w *Worker) Seeds(device string, seeds []uint64, count *Count) ([]Finding, error) {
	r, what, text, err := w.ask(job{Device: device, Seeds: seeds})
	if err != nil {
		return nil, err
	}
	if r.Opened != "" {
		return nil, &NoDevice{device, r.Opened}
	}
	if what == Right {
		count.Add(r.Count)
		return r.Findings, nil
	}
	if len(seeds) == 1 {
		count.Programs++
		return []Finding{{Seed: seeds[0], Device: device, What: what, Text: text}}, nil
	}
	half := len(seeds) / 2
	a, err := w.Seeds(device, seeds[:half], count)
	if err != nil {
		return nil, err
	}
	b, err := w.Seeds(device, seeds[half:], count)
	if found := append(a, b...); len(found) > 0 || err != nil {
		return found, err
	}
	return []Finding{{Seed: seeds[0], Device: device, What: what, Text: fmt.Sprintf("only together with the %d seeds after it: %s", len(seeds)-1, text)}}, nil
}

// Explain gives what the scheduler decides for a program, and the laws that fire while it is compiled.
func (w *Worker) Explain(device string, p *Program) string {
	r, what, text, err := w.ask(job{Device: device, Program: p, Explain: true})
	switch {
	case err != nil:
		return "no schedule: " + err.Error()
	case what != Right:
		return fmt.Sprintf("no schedule: the process %v\n%s", what, text)
	}
	return r.Text
}

// Paste runs the i-th of Pastes.
func (w *Worker) Paste(device string, i int) (What, string, error) {
	return w.one(job{Device: device, Pasted: i + 1})
}

// Program runs one program and says how it fails.
func (w *Worker) Program(device string, p *Program) (What, string, error) {
	return w.one(job{Device: device, Program: p})
}

func (w *Worker) one(j job) (What, string, error) {
	r, what, text, err := w.ask(j)
	switch {
	case err != nil:
		return Right, "", err
	case r.Opened != "":
		return Right, "", &NoDevice{j.Device, r.Opened}
	case what != Right:
		return what, text, nil
	case len(r.Findings) == 0:
		return Right, "", nil
	}
	return r.Findings[0].What, r.Findings[0].Text, nil
}
