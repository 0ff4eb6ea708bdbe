package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// libraries are those who take turns: Weft first, which says what is right.
var libraries = []struct{ name, module string }{
	{weftName, ""}, {"PyTorch", "torch"}, {"torch.compile", "compiled"}, {"JAX", "jax"}, {"ONNX Runtime", "ort"},
}

const weftName = "Weft"

// order and reply are what weft bench --turns and worker.py understand.
type order struct {
	Do   string  `json:"do"`
	Case string  `json:"case,omitempty"`
	Dir  string  `json:"dir,omitempty"`
	MS   float64 `json:"ms,omitempty"`
}

type reply struct {
	Failed string `json:"failed"`
	Wrong  string `json:"wrong"`
	Lacks  bool   `json:"lacks"`

	About string   `json:"about"`
	Cases []listed `json:"cases"`

	GFlops float64 `json:"gflops"`
	GBps   float64 `json:"gbps"`

	MedianMS float64 `json:"median_ms"`
	MinMS    float64 `json:"min_ms"`
	Runs     int     `json:"runs"`

	Launches []launched `json:"launches"`
}

// listed is a case as weft bench knows it; other libraries give the name only.
type listed struct {
	Name    string  `json:"name"`
	About   string  `json:"about"`
	Flops   float64 `json:"flops"`
	Bytes   float64 `json:"bytes"`
	ByBytes bool    `json:"by_bytes"`
}

// worker is a process that measures when it is told to.
type worker struct {
	name  string
	about reply // what it said about itself
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	log   string // file of what it complains about
}

type workers []*worker

func newWorker(name string, cmd *exec.Cmd, threads int) (*worker, error) {
	dir, err := cacheDir()
	if err != nil {
		return nil, err
	}
	w := &worker{name: name, cmd: cmd, log: filepath.Join(dir, strings.ReplaceAll(strings.ToLower(name), " ", "-")+".log")}
	log, err := os.Create(w.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stderr = log
	cmd.Env = append(os.Environ(), fmt.Sprintf("WEFT_THREADS=%d", threads), fmt.Sprintf("OMP_NUM_THREADS=%d", threads),
		"TORCHINDUCTOR_CACHE_DIR="+filepath.Join(dir, "inductor"), "JAX_PLATFORMS=cpu")
	if w.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	w.out = bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return w, nil
}

// patience is how long a worker may take to prepare a case.
const patience = 10 * time.Minute

// ask gives an order and waits for the reply. A worker that fails at a case says so in it; an error is the end of the worker.
func (w *worker) ask(o order, limit time.Duration) (r reply, err error) {
	late := time.AfterFunc(limit, func() { _ = w.cmd.Process.Kill() })
	defer late.Stop()
	if err = json.NewEncoder(w.in).Encode(o); err == nil {
		var line []byte
		if line, err = w.out.ReadBytes('\n'); err == nil {
			err = json.Unmarshal(line, &r)
		}
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("it has ended, or took too long")
	}
	if err != nil {
		return r, fmt.Errorf("%s, asked to %s %s: %w; see %s", w.name, o.Do, o.Case, err, w.log)
	}
	return r, nil
}

// stop ends all workers.
func (ws workers) stop() {
	for _, w := range ws {
		w.in.Close()
	}
	for _, w := range ws {
		late := time.AfterFunc(10*time.Second, func() { _ = w.cmd.Process.Kill() })
		_ = w.cmd.Wait() // what it measured is known
		late.Stop()
	}
}
