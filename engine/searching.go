package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/lower"
	"github.com/weft-ml/weft/engine/search"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/schedule"
)

// DirectiveStore keeps what searches found between runs, one text for each name. What Get gives is what Put was given.
type DirectiveStore interface {
	Get(name string) ([]byte, bool)
	Put(name string, text []byte) error
	Close()
}

// searching is what searches, or nil in programs that have none: a page is the smaller for it. searchFor is searchOne then, which a
// program without a search does not link either.
var (
	searching *search.Functions
	searchFor func(e *Engine, ctx context.Context, w wanted, number, of int) error
)

// SearchWith gives this program a search; package backends calls it.
func SearchWith(f *search.Functions) {
	mu.Lock()
	defer mu.Unlock()
	searching, searchFor = f, (*Engine).searchOne
}

var openDirectives func(o Options) (DirectiveStore, error)

// KeepDirectives says where what searches find is kept between runs; package backends calls it.
func KeepDirectives(open func(o Options) (DirectiveStore, error)) {
	mu.Lock()
	defer mu.Unlock()
	openDirectives = open
}

// process keeps what was found where there is no other store: for the engines of this process, whose results then are the same.
var process = &memoryStore{found: map[string][]byte{}}

type memoryStore struct {
	sync.Mutex
	found map[string][]byte
}

func (s *memoryStore) Get(name string) ([]byte, bool) {
	s.Lock()
	defer s.Unlock()
	text, ok := s.found[name]
	return text, ok
}

func (s *memoryStore) Put(name string, text []byte) error {
	s.Lock()
	defer s.Unlock()
	s.found[name] = text
	return nil
}

func (*memoryStore) Close() {}

// An engine searches for so many times what one kernel may take, in all. Kernels after that take the model's choice.
const mostKernels = 45

// searchTime is what one kernel may take where Options.SearchTime is 0.
const searchTime = 20 * time.Second

// tuning is what an engine knows of directives that are better than the model's.
type tuning struct {
	store   DirectiveStore
	shipped map[string][]search.Choice     // of Options.Directives, by key
	known   map[string][]codegen.Directive // by the key of the Spec
	left    time.Duration
	told    time.Time // when progress was last told
	over    bool      // the time was over, and that was said
}

// openTuning reads the directives that a program brings with it, and opens the store.
func (e *Engine) openTuning() error {
	t := &e.tuning
	if e.opts.SearchTime <= 0 {
		e.opts.SearchTime = searchTime
	}
	t.known, t.left = map[string][]codegen.Directive{}, mostKernels*e.opts.SearchTime
	if e.opts.Search < 0 || e.opts.Search > MostSearch {
		return fmt.Errorf("%s: a search of width %d: a number from 0 (none) to %d belongs there", e.name, e.opts.Search, MostSearch)
	}
	if searching == nil && (e.opts.Search > 0 || e.opts.Directives != nil) {
		return fmt.Errorf("%s: this program cannot search for directives, nor use directives that were found: import package backends for that; in a page open does so with the options search and directives", e.name)
	}
	if e.opts.Directives != nil {
		list, err := searching.Parse(e.opts.Directives)
		if err != nil {
			return fmt.Errorf("%s: Options.Directives: %w; write it anew with weft tune export", e.name, err)
		}
		t.shipped = map[string][]search.Choice{}
		for _, c := range list {
			t.shipped[c.Key] = append(t.shipped[c.Key], c)
		}
	}
	if e.opts.Search > 0 && e.machine.Key == "" {
		e.Say("%s: there is no search on this device, so its kernels run as the model chooses", e.name)
	}
	if !e.searches() {
		return nil
	}
	t.store = process
	if openDirectives == nil {
		return nil
	}
	s, err := openDirectives(e.opts)
	var wrong *runtime.Misconfigured
	switch {
	case errors.As(err, &wrong):
		return fmt.Errorf("%s: %w", e.name, err)
	case err != nil:
		e.Say("the directives that are found are not kept and will be searched for again by the next process (%v)", err)
	default:
		t.store = s
	}
	return nil
}

func (e *Engine) closeTuning() {
	if e.tuning.store != nil {
		e.tuning.store.Close()
		e.tuning.store = process
	}
}

// Say writes a line to Options.Log: what whoever runs a program should know, and nothing fails by.
func (e *Engine) Say(format string, args ...any) {
	if e.opts.Log != nil {
		fmt.Fprintf(e.opts.Log, "weft: %s\n", fmt.Sprintf(format, args...))
	}
}

// searches says that this engine looks for directives by the clock. Devices that run no kernels of their own have nothing to time.
func (e *Engine) searches() bool {
	return e.opts.Search > 0 && !e.opts.NoOpt && e.machine.Key != ""
}

// directives gives the directives of a kernel: what a search found, what came with the program, or the model's choice.
func (e *Engine) directives(key string, spec *codegen.Spec) []codegen.Directive {
	if m, ok := e.tuning.known[key]; ok {
		return m
	}
	model := e.machine.directives(spec)
	if e.opts.NoOpt || e.tuning.shipped == nil && e.tuning.store == nil {
		return model
	}
	if c, ok := e.kept(searching.Key(e.machine.Target, key), spec, model); ok {
		e.tuning.known[key] = c
		return c
	}
	return model
}

// kept looks for a choice of this machine's in the store, and for one that came with the program.
func (e *Engine) kept(key string, spec *codegen.Spec, model []codegen.Directive) ([]codegen.Directive, bool) {
	if c := e.stored(key); c != nil {
		if m, err := e.accept(c, spec, model); err == nil {
			return m, true
		}
	}
	return e.brought(key, spec, model)
}

// brought looks for a choice of this machine's, or else of any, among those that came with the program.
func (e *Engine) brought(key string, spec *codegen.Spec, model []codegen.Directive) ([]codegen.Directive, bool) {
	var other *search.Choice
	for i, c := range e.tuning.shipped[key] {
		if c.Machine == search.Word(e.machine.Key) {
			other = &e.tuning.shipped[key][i]
		} else if other == nil {
			other = &e.tuning.shipped[key][i]
		}
	}
	if other == nil {
		return nil, false
	}
	m, err := e.accept(other, spec, model)
	if err != nil {
		e.Say("%s: the directives that came with the program for kernel %s are not used: %v", e.name, other.Name, err)
	}
	return m, err == nil
}

// stored is what the store has of this machine for a kernel, or nil.
func (e *Engine) stored(key string) *search.Choice {
	if e.tuning.store == nil {
		return nil
	}
	text, ok := e.tuning.store.Get(searching.Name(key, e.machine.Key))
	if !ok {
		return nil
	}
	list, err := searching.Parse(text)
	if err != nil || len(list) != 1 || list[0].Key != key || list[0].Machine != search.Word(e.machine.Key) {
		return nil // of another version, perhaps
	}
	return &list[0]
}

// accept gives the directives of a choice, if the model still chooses as it did then, and they are legal and make a kernel of
// bearable size.
func (e *Engine) accept(c *search.Choice, spec *codegen.Spec, model []codegen.Directive) ([]codegen.Directive, error) {
	if c.Model != codegen.DirectivesString(model) {
		return nil, errors.New("they were found by another version of Weft")
	}
	if c.Best == c.Model {
		return model, nil
	}
	return searching.Accept(e.searcher(), spec, c.Best)
}

func (e *Engine) searcher() *search.Machine {
	m := e.machine
	return &search.Machine{Device: m.Device, Target: m.Target, Render: m.Render, Finish: m.Finish}
}

type noSearch struct{}

// NoSearch is a context in which no kernel is searched for: what is computed there is not what the program is about.
func NoSearch(ctx context.Context) context.Context { return context.WithValue(ctx, noSearch{}, true) }

// wanted is a kernel to search for.
type wanted struct {
	key  string
	spec *codegen.Spec
}

// wanted lists the kernels of a schedule, each once.
func (e *Engine) wanted(r *schedule.Result) (out []wanted) {
	if !e.searches() {
		return nil
	}
	seen := map[string]bool{}
	for _, st := range r.Steps {
		if st.Spec == nil || st.Spec.Foreign != nil {
			continue
		}
		for _, spec := range lower.Nests(st.Spec, e.machine.Target) {
			if key := specKey(spec); !seen[key] {
				seen[key] = true
				out = append(out, wanted{key, spec})
			}
		}
	}
	return out
}

// search finds directives for the kernels of a plan that is being made, those first that come first. What it finds is kept kernel by
// kernel, also where ctx ends it.
func (e *Engine) search(ctx context.Context, list []wanted) error {
	if !e.searches() || e.machine.Choose != nil || ctx.Value(noSearch{}) != nil {
		return nil
	}
	for i, w := range list {
		if _, ok := e.tuning.known[w.key]; ok {
			continue
		}
		if err := e.attempt(ctx, func() error { return searchFor(e, ctx, w, i, len(list)) }); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) searchOne(ctx context.Context, w wanted, number, of int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	key, model := searching.Key(e.machine.Target, w.key), e.machine.directives(w.spec)
	task := search.Task{Spec: w.spec, Model: model, Width: e.opts.Search, Time: e.opts.SearchTime, Clock: e.opts.SearchClock, All: e.opts.SearchCheck != nil}
	if c := e.stored(key); c != nil {
		if m, err := e.accept(c, w.spec, model); err == nil && c.Complete {
			e.tuning.known[w.key] = m
			e.searched(*c)
			return nil
		} else if err == nil {
			task.Known = append(task.Known, m)
		}
	}
	if m, ok := e.brought(key, w.spec, model); ok {
		task.Known = append(task.Known, m)
	}
	if e.tuning.left <= 0 {
		if !e.tuning.over {
			e.tuning.over = true
			e.Say("%s search: %v are over, so kernels take the model's choice from here on; the next process goes on", e.name, mostKernels*e.opts.SearchTime)
		}
		e.tuning.known[w.key] = model
		return nil
	}
	start := time.Now()
	task.Progress = func(tried int, best float64) { e.progress(number, of, tried, best) }
	debug := e.opts.Debug
	e.opts.Debug = 0 // no line for each launch
	r, err := searching.Search(e.searcher(), ctx, task)
	e.opts.Debug = debug
	e.tuning.left -= time.Since(start)
	if err == nil || ctx.Err() == nil { // else the next call goes on
		e.tuning.known[w.key] = r.Best
	}
	delete(e.kernels, w.key) // somebody may have looked at the plan before
	c := search.Choice{Key: key, Machine: e.machine.Key, Name: r.Kernel.Name, ModelSeconds: r.ModelSeconds, BestSeconds: r.BestSeconds,
		Model: codegen.DirectivesString(r.Model), Best: codegen.DirectivesString(r.Best), Complete: r.Complete}
	for _, f := range r.Faults {
		e.Say("%s search: kernel %s: %s", e.name, c.Name, f)
		if e.opts.SearchCheck != nil {
			e.opts.SearchCheck(c.Name, f)
		}
	}
	if e.says(debugPlans) {
		e.Say("%s search: kernel %d of %d, %s: %d lists tried, %.3g ms by %q, %.3g ms by the model's %q", e.name, number+1, of, c.Name, r.Tried,
			c.BestSeconds*1e3, c.Best, c.ModelSeconds*1e3, c.Model)
	}
	var lost *runtime.Lost
	if err != nil && ctx.Err() == nil && !errors.As(err, &lost) {
		e.Say("%s search: kernel %s keeps the model's choice: %v", e.name, c.Name, err)
		return nil
	}
	if r.Tried > 0 {
		if failed := e.tuning.store.Put(searching.Name(key, e.machine.Key), searching.Format([]search.Choice{c})); failed != nil {
			e.Say("%s search: what was found for kernel %s is not kept: %v", e.name, c.Name, failed)
		}
	}
	if err == nil {
		e.searched(c)
	}
	return err
}

func (e *Engine) searched(c search.Choice) {
	if e.opts.Searched != nil {
		e.opts.Searched(c)
	}
}

// progress tells how far a search is, every two seconds.
func (e *Engine) progress(number, of, tried int, best float64) {
	if now := time.Now(); now.Sub(e.tuning.told) >= 2*time.Second {
		e.tuning.told = now
		e.Say("%s search: kernel %d of %d, %d lists tried, the best takes %.2f of the model's time", e.name, number+1, of, tried, best)
	}
}
