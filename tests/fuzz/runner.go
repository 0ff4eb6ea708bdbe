package fuzz

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Runner runs ranges of seeds on devices, several processes at a time.
type Runner struct {
	Command   []string // starts a process that calls Serve
	Env       []string
	Processes int
	Batch     int           // programs that are compiled together
	Shrink    time.Duration // for each finding; 0: findings are not shrunk
	Report    func(f *Finding, text string)
}

// Run runs n programs from a seed on, on one device, until a time (zero: all). What is found is shrunk and reported, at most
// most times.
func (r *Runner) Run(device string, from uint64, n int, until time.Time, most int) (count Count, found int, err error) {
	jobs := make(chan []uint64, r.Processes)
	var mu sync.Mutex
	var wg sync.WaitGroup
	stop := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return err != nil || found >= most || !until.IsZero() && time.Now().After(until)
	}
	for range r.Processes {
		wg.Go(func() {
			w := &Worker{Command: r.Command, Env: r.Env}
			defer w.Close()
			for seeds := range jobs {
				if stop() {
					continue
				}
				var c Count
				list, failed := w.Seeds(device, seeds, &c)
				for i := range list {
					if stop() {
						break
					}
					if known(&list[i]) != "" {
						c.Open++
						continue
					}
					text := r.shrunk(w, &list[i])
					mu.Lock()
					found++
					r.Report(&list[i], text)
					mu.Unlock()
				}
				mu.Lock()
				count.Add(c)
				if failed != nil && err == nil {
					err = failed
				}
				mu.Unlock()
			}
		})
	}
	for _, seeds := range batches(from, n, r.Batch) {
		jobs <- seeds
	}
	close(jobs)
	wg.Wait()
	return count, found, err
}

// batches cuts a range of seeds; a batch has programs of the same options.
func batches(from uint64, n, size int) [][]uint64 {
	var order []Options
	by := map[Options][]uint64{}
	for i := range n {
		s := from + uint64(i)
		o := OptionsOf(s)
		if by[o] == nil {
			order = append(order, o)
		}
		by[o] = append(by[o], s)
	}
	var out [][]uint64
	for _, o := range order {
		for part := range slices.Chunk(by[o], size) {
			out = append(out, part)
		}
	}
	return out
}

// building is held where this process builds graphs: the default engine is one for all goroutines.
var building sync.Mutex

// shrunk tells of a finding: the program, made small, what is wrong, and what is run for it.
func (r *Runner) shrunk(w *Worker, f *Finding) string {
	building.Lock()
	defer building.Unlock()
	p := f.Program
	if p == nil {
		graphs()
		p = Generate(f.Seed).Program
	}
	text := f.Text
	ops := 0
	if r.Shrink > 0 && f.What != Panics || f.Program == nil && r.Shrink > 0 {
		s := &Shrinker{Worker: w, Device: f.Device, Until: time.Now().Add(r.Shrink)}
		if small, why, err := s.Shrink(p, f.What); err == nil {
			if s.best == nil {
				text += "\n(it does not fail again)"
			} else {
				p, text, ops = small, why, s.tries
			}
		}
	}
	f.Program = p
	return fmt.Sprintf("seed %d on %s: %v (%d attempts to shrink it)\n%s\n\n%s\n%s", f.Seed, f.Device, f.What, ops, text, p.Source(), w.Explain(f.Device, p))
}
