package browser

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Task is a piece of work of the page's main thread: how long it took, and how much of that it was at work. The
// difference is time in which the machine did other things, such as the work of a graphics processor that is a
// program on the same cores.
type Task struct {
	Wall, Work time.Duration
	At         time.Duration // since the first task
	From       string        // what of Chromium asked for it
	What       []string      // its parts, the longest first
}

func (t Task) String() string {
	return fmt.Sprintf("%v (at work %v) after %.1f s, from %s: %v", t.Wall, t.Work, t.At.Seconds(), t.From, t.What)
}

// traced is one event of a trace, in microseconds.
type traced struct {
	Name, Ph string
	Pid, Tid int
	Ts       float64
	Dur      float64
	Tdur     float64
	Args     struct {
		Name     string
		From     string `json:"src_func"` // who asked for a task
		FromFile string `json:"src_file"`
	}
}

// Tasks notes the tasks of the page's main thread until the function that it gives is called; that gives those that
// took longer than a time, the longest first.
func (p *Page) Tasks() (longer func(than time.Duration) ([]Task, error), err error) {
	var events []traced
	done := make(chan struct{})
	p.On("Tracing.dataCollected", func(params json.RawMessage) {
		var more struct{ Value []traced }
		if json.Unmarshal(params, &more) == nil {
			events = append(events, more.Value...)
		}
	})
	p.On("Tracing.tracingComplete", func(json.RawMessage) { close(done) })
	// Each task tells how long its thread was at work only where the trace has thread times, as it has by default.
	err = p.Call("Tracing.start", map[string]any{"transferMode": "ReportEvents", "traceConfig": map[string]any{
		"recordMode": "recordUntilFull", "includedCategories": []string{"toplevel", "devtools.timeline", "__metadata"}, "excludedCategories": []string{"*"},
	}}, nil)
	if err != nil {
		return nil, err
	}
	return func(than time.Duration) ([]Task, error) {
		if err := p.Call("Tracing.end", nil, nil); err != nil {
			return nil, err
		}
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			return nil, fmt.Errorf("the trace is not complete after 30 s")
		}
		p.On("Tracing.dataCollected", nil)
		p.On("Tracing.tracingComplete", nil)
		return tasks(events, than)
	}, nil
}

func tasks(events []traced, than time.Duration) ([]Task, error) {
	micro := func(us float64) time.Duration { return time.Duration(us * float64(time.Microsecond)) }
	type thread struct{ pid, tid int }
	mains := map[thread]bool{}
	for _, e := range events {
		if e.Ph == "M" && e.Name == "thread_name" && e.Args.Name == "CrRendererMain" {
			mains[thread{e.Pid, e.Tid}] = true
		}
	}
	events = slices.DeleteFunc(events, func(e traced) bool { return e.Ph != "X" || !mains[thread{e.Pid, e.Tid}] })
	if len(events) == 0 {
		return nil, fmt.Errorf("the trace has no task of the page's main thread")
	}
	if !slices.ContainsFunc(events, func(e traced) bool { return e.Tdur > 0 }) {
		return nil, fmt.Errorf("the trace does not tell how long threads were at work")
	}
	begin := slices.MinFunc(events, func(a, b traced) int { return cmp.Compare(a.Ts, b.Ts) }).Ts
	slices.SortStableFunc(events, func(a, b traced) int { return cmp.Compare(b.Dur, a.Dur) })
	var out []Task
	for _, e := range events {
		if e.Name != "ThreadControllerImpl::RunTask" && e.Name != "RunTask" || micro(e.Dur) < than {
			continue
		}
		task := Task{Wall: micro(e.Dur), Work: micro(e.Tdur), At: micro(e.Ts - begin), From: strings.TrimSpace(path.Base(e.Args.FromFile) + " " + e.Args.From)}
		for _, part := range events {
			if part.Name != e.Name && part.Pid == e.Pid && part.Ts >= e.Ts && part.Ts+part.Dur <= e.Ts+e.Dur && len(task.What) < 6 {
				task.What = append(task.What, fmt.Sprintf("%s %v (%v)", part.Name, micro(part.Dur).Round(100*time.Microsecond), micro(part.Tdur).Round(100*time.Microsecond)))
			}
		}
		out = append(out, task)
	}
	return out, nil
}
