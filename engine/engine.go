// Package engine turns graphs into results: it asks the scheduler and the code generator for a
// plan, keeps plans by the shape of their graph, and plays them on a device.
//
// It knows devices by name only; package backends pairs languages with machines and registers them.
// It refuses to know tensors as users see them.
package engine

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weft-ml/weft/codegen"
	"github.com/weft-ml/weft/codegen/model"
	"github.com/weft-ml/weft/engine/choose"
	"github.com/weft-ml/weft/engine/search"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/schedule"
	"github.com/weft-ml/weft/sizes"
	"github.com/weft-ml/weft/uop"
)

// Options are the settings of devices opened from now on. The zero value is the default. They are read
// from flags and environment by programs, never by this package.
type Options struct {
	Threads     int    // threads of the CPU device; 0: one per processor
	MemoryLimit int64  // bytes a device may hand out; 0: no limit
	CacheDir    string // compiled kernels; "": the user's cache folder
	CC          string // C compiler; "": clang or gcc from PATH, plain names before clang-19, gcc-14 …
	Poison      bool   // fill fresh memory with garbage (tests)
	Fence       bool   // CPU: arrays lie against pages that cannot be touched (tests)
	NoOpt       bool   // no directives: every kernel is plain loops
	// Search is how many lists of directives a search by the clock goes on from, for each kernel that is compiled; 0: none, every kernel
	// runs as the model chooses. It takes seconds a kernel, once: what it finds is kept in CacheDir by kernel, machine and version.
	// A choice is taken only if it is faster than the model's by 5 %, with equal results; sums may round otherwise.
	Search int
	// SearchTime is how long the search for one kernel may take; 0: 20 s. All of an engine take 15 minutes at most, or 45 of these.
	SearchTime time.Duration
	// SearchClock, if set, is what a search measures by; nil: the time of day. The processor time of the process, for a device of one
	// thread, tells kernels apart on a machine that does other work.
	SearchClock func() time.Duration
	// Directives are choices that come with a program: a file of weft tune export. They count with Search 0 too, for kernels for which
	// the model still chooses as it did then.
	Directives   []byte
	StoreAll     bool // no fusion: every node that computes is stored (tests)
	OwnConstants bool // kernels that differ in constants only are kernels of their own, and plans have no arrays but those of the program (tests)
	OwnSizes     bool // each combination of sizes has a plan of its own, however many there are
	EarlySizes   bool // from the third combination of sizes on one plan is for all, also where it is a few kernels (tests)
	Numbers      bool // every number of a graph that can be an argument of its plan is one from the first time on (tests)
	Unfolded     bool // captured functions compute everything in each run, also what is the same in all (tests)
	Unchecked    bool // do not look for indices outside, classes that do not exist, singular matrices: see ValueError
	Debug        int  // 0 … 6, see the architecture
	Plain        bool // what Debug shows has no colours: it is read elsewhere than on a terminal
	// Origins has every node made from now on, by whatever engine, remember the method and the line of the program that made it: kernels
	// are printed with them (View, Debug 2). It costs some microseconds an operation of a tensor. Debug 2 and more sets it.
	Origins bool
	Log     io.Writer
	// Launched, if set, hears of each launch of a kernel by itself, and of each copy (k is nil), with how long it took: launches follow each other
	// then, each waited for. It must not use the engine.
	Launched func(k *plan.Kernel, seconds float64)
	// Check, if set, is told of every kernel before and after each pass of its lowering, and fails a plan with its error
	// (tests: codegen/evaluate).
	Check func(s *codegen.Spec) func(l codegen.Lowering) error
	// Schedule, if set, schedules graphs in place of schedule.New, and fails a plan with its error (tests: schedule/evaluate).
	Schedule func(g *schedule.Graph, c schedule.Config) (*schedule.Result, error)
	// Work is what the program is about to do, for choosing a device; zero: choose.Usual.
	Work choose.Work
	// Number tells devices of one kind apart: 1 for CPU:1. Use sets it.
	Number int
	// Context, if set, ends waiting for a device that is being opened. UseContext sets it, and so does who opens a lost
	// device again.
	Context context.Context
	// SearchCheck, if set, has the results of every list of directives that is tried compared, not of the fast ones only, and hears of what
	// is wrong. Measuring is short then, and the fastest is taken by whatever margin (tests).
	SearchCheck func(kernel, fault string)
	// Searched, if set, hears of each kernel that was searched for, now or before. It must not use the engine.
	Searched func(c search.Choice)
	// Later has the default device be the best by rank at first, where the others were not measured before: Engine.Choose measures them.
	Later bool
	// Returned, if set, hears that an engine went back to the device that it began on, and why. It must not use the engine.
	Returned func(device string, why error)
	// Recovered, if set, hears of lost devices that were opened again. It must not use the engine.
	Recovered func(r *Recovery)
}

// Traces says that launches are measured one by one.
func (o Options) Traces() bool { return o.Debug >= debugLaunches || o.Launched != nil }

// Opening is the context of opening a device.
func (o Options) Opening() context.Context {
	if o.Context == nil {
		return context.Background()
	}
	return o.Context
}

// Machine is an opened backend: a device and the compiler for it.
type Machine struct {
	Device runtime.Device
	Target *codegen.Target
	// Key names processor, compiler and whatever else decides which kernel is fast, but for the number of threads. Without one
	// there is no search: the device runs no kernels.
	Key string
	// Choose, if set, gives the directives of a kernel in place of model.Choose (tests).
	Choose func(spec *codegen.Spec, target *codegen.Target) []codegen.Directive
	// Render writes a lowered kernel in the device's language; where Finish is set, perhaps as a draft that it spells.
	Render func(p *codegen.Program) (plan.Kernel, error)
	// Plans, if set, keeps plans between runs of the program.
	Plans PlanStore
	// Expect, if set, hears of each kernel of a plan that will be loaded as soon as it is written.
	Expect func(ctx context.Context, k *plan.Kernel)
	// Finish, if set, spells or adapts the kernels of a whole plan for the memory that they are bound to.
	Finish func(p *plan.Plan)
	// Evaluate is set instead of Target and Render where graphs are evaluated directly (REF).
	Evaluate func(load func(leaf *uop.UOp) []uop.Value, roots ...*uop.UOp) [][]uop.Value
	// MayBeLost is set where calls of the device may fail with a runtime.Lost, and Open then opens another.
	MayBeLost bool
}

// Backend is how a device is opened. Default backends are tried in the order of Rank; a Rank of 0 is never chosen
// unless asked for by name.
type Backend struct {
	Name string
	Rank int
	// Compare is set where the device is measured against the best by Rank, and taken if it is faster.
	Compare bool
	// Several is set where any number of devices can be opened, X:0, X:1 and so on.
	Several bool
	Open    func(o Options, trace func(k *plan.Kernel, seconds float64)) (*Machine, error)
}

// turn is a lock that one can stop waiting for.
type turn chan struct{}

func (t turn) Lock()   { t <- struct{}{} }
func (t turn) Unlock() { <-t }

func (t turn) wait(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var (
	mu       = make(turn, 1)
	backends = map[string]Backend{}
	engines  = map[string]*Engine{}
	options  Options
	fallback string // the default device, once chosen
)

// Register adds a backend; package backends calls it.
func Register(b Backend) {
	mu.Lock()
	defer mu.Unlock()
	backends[b.Name] = b
}

// MostSearch is the greatest Options.Search.
const MostSearch = 64

// Configure sets the options and the default device ("" = choose) for devices opened from now on, in place of what the
// environment says. Devices that are open already keep theirs.
func Configure(o Options, device string) {
	mu.Lock()
	defer mu.Unlock()
	options, fallback, configured = o, deviceName(device), true
}

// Find gives the backend of this name.
func Find(name string) (Backend, bool) {
	mu.Lock()
	defer mu.Unlock()
	b, ok := backends[deviceName(name)]
	return b, ok
}

// Names lists the registered devices.
func Names() []string {
	mu.Lock()
	defer mu.Unlock()
	var names []string
	for n := range backends {
		names = append(names, n)
	}
	slices.SortStableFunc(names, strings.Compare)
	return names
}

func deviceName(name string) string {
	name = strings.ToUpper(name)
	if strings.Contains(name, "+") { // several
		return name
	}
	return strings.TrimSuffix(name, ":0")
}

// Use is UseContext without an end.
func Use(name string) (*Engine, error) { return UseContext(context.Background(), name) }

// UseContext opens a device by name, or gives the one already open; "" is the default device: the best that
// opens, measured where there are several to choose from (see package choose). Opening and measuring end with ctx.
func UseContext(ctx context.Context, name string) (*Engine, error) {
	asked := name
	name = deviceName(name)
	if err := settle(); err != nil {
		return nil, err
	}
	known := Names()
	if err := mu.wait(ctx); err != nil {
		return nil, err
	}
	defer mu.Unlock()
	if name == "" {
		name = fallback
	}
	if name == "" {
		return chooseDefault(ctx)
	}
	e, err := open(ctx, name, known)
	var unknown *UnknownDevice
	if errors.As(err, &unknown) && asked != "" {
		unknown.Name = asked
	}
	return e, err
}

func open(ctx context.Context, name string, known []string) (*Engine, error) {
	if e := engines[name]; e != nil {
		return e, nil
	}
	b, number, err := find(name, known)
	if err != nil {
		return nil, err
	}
	o := during(ctx, options)
	o.Number = number
	e, err := New(b, o)
	if err != nil {
		return nil, err
	}
	e.rename(name)
	engines[name] = e
	return e, nil
}

// during gives options for opening a device within a context.
func during(ctx context.Context, o Options) Options {
	o.Context = ctx
	return o
}

// Engine is a device with its compiler and caches. Its methods may be called from any number of goroutines: they take turns, in
// the order in which they came, and wait for no longer than their context lasts.
type Engine struct {
	name    string
	opts    Options
	called  atomic.Pointer[string] // name, for those who have not the engine's turn; see rename
	joined  atomic.Bool            // it is one of several devices (Over)
	backend Backend
	before  *Backend // of the device that it began on; nil: it is there, or does not go back
	moves   int      // from device to device

	mu      turns
	machine *Machine
	lost    *runtime.Lost // why there is no device now, or nil
	closed  bool          // Close was called: nothing is left, and no other is opened in its place
	journal journal
	plans   map[string]*compiled
	kernels map[string]plan.Kernel // by Spec
	entries map[string]bool        // of kernels that were counted
	clock   int                    // see compiled.used

	families map[string]*family       // by outline
	sizes    map[string]*sizes.Family // by the ops of a graph
	refits   map[string]*compiled     // plans of copies, by shapes
	eager    knownGraphs              // of programs that capture nothing
	alike    map[string]int           // plans compiled, see debugAlike

	bodies   bodies
	memory   memory
	tuning   tuning
	stats    Stats
	foreseen foreseen
	records  map[*recording]bool // under way
	filling  int                 // arrays whose elements are on their way
	waiting  atomic.Int64        // arrays of Later whose elements did not come yet

	several several // nil: this is one device
}

// directives gives the directives of a kernel.
func (m *Machine) directives(spec *codegen.Spec) []codegen.Directive {
	if m.Choose != nil {
		return m.Choose(spec, m.Target)
	}
	return model.Choose(spec, m.Target)
}

// Stats counts what an engine did since it was opened.
type Stats struct {
	Compiled  int   // plans scheduled and compiled
	Kernels   int   // kernels generated
	Plays     int   // plans played
	Launches  int   // kernels launched
	Errands   int   // plays that the device carried out by itself, see Errand
	Shared    int   // plays of plans for many sizes
	Known     int   // graphs that were made before, and not resolved anew
	LiveBytes int64 // bytes of arrays now
	PeakBytes int64 // most bytes at a time, arenas of plans included
	Losses    int   // devices lost and opened again
	Journal   int64 // bytes kept on the host since the last checkpoint, see journal
	Received  int64 // bytes that came from other devices, for arrays that lie on several

	Collections int // runs of Go's collector for the sake of arrays that nobody refers to
}

// New opens a backend as an engine of its own, beside those of Use.
func New(b Backend, o Options) (*Engine, error) {
	kept := o
	kept.Context = nil // it was for opening alone
	e := &Engine{opts: kept, backend: b, plans: map[string]*compiled{}, families: map[string]*family{}, kernels: map[string]plan.Kernel{}, entries: map[string]bool{}, records: map[*recording]bool{}}
	e.rename(b.Name)
	e.journal.bytes, e.journal.time = journalBytes, journalTime
	m, err := e.openMachine(b, o)
	if err != nil {
		return nil, err
	}
	if o.Origins || o.Debug >= debugLaunches {
		origins.Store(true)
	}
	e.machine = m
	e.memory.device = m.Device
	if err := e.openTuning(); err != nil {
		_ = m.Device.Close() // nothing is on it
		return nil, err
	}
	return e, nil
}

// openMachine opens a backend for this engine.
func (e *Engine) openMachine(b Backend, o Options) (*Machine, error) {
	m, err := b.Open(o, e.trace)
	if err == nil && m.Target != nil && e.opts.Check != nil {
		checked := *m.Target
		checked.Check = e.opts.Check
		m.Target = &checked
	}
	return m, err
}

// Open opens a device by name as an engine of its own, with its own options, beside those of Use.
func Open(name string, o Options) (*Engine, error) {
	b, ok := Find(name)
	if !ok {
		return nil, Unknown(name)
	}
	return New(b, o)
}

// Name is the device's name.
func (e *Engine) Name() string { return *e.called.Load() }

func (e *Engine) rename(name string) {
	e.name = name
	e.called.Store(&name)
}

// Compiling is how many multiply-adds the device does in the time that it takes to compile a kernel, about.
func (e *Engine) Compiling() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.machine.Target.Compiling
}

// Grid says whether the device runs each element of a kernel's result as an invocation of its own. One that evaluates graphs has no kernels, and several
// are not asked.
func (e *Engine) Grid() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.machine.Target != nil && e.machine.Target.Grid
}

// Info describes the device.
func (e *Engine) Info() plan.Info { return e.Device().Info() }

// Device is the device itself, for measurements. It is another one after a loss.
func (e *Engine) Device() runtime.Device {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.machine.Device
}

// Stats gives the counters.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := e.stats
	s.LiveBytes, s.PeakBytes, s.Journal = e.memory.live, e.memory.peak, e.journal.kept
	s.Collections = e.memory.ran
	return s
}

// Sync waits for everything queued.
func (e *Engine) Sync(ctx context.Context) error {
	if err := e.mu.LockFor(ctx); err != nil {
		return err
	}
	defer e.mu.Unlock()
	return e.attempt(ctx, func() error { return e.machine.Device.Sync(ctx) })
}

// Close gives the device back, and all memory: arrays on it are lost, and whatever needs them or the device is a *runtime.Closed.
func (e *Engine) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	mu.Lock()
	if engines[e.name] == e {
		delete(engines, e.name)
	}
	mu.Unlock()
	e.closeTuning()
	e.closePlans()
	if !e.closed {
		e.closed = true
		e.drop()
	}
	if e.lost != nil {
		return nil
	}
	return e.machine.Device.Close()
}

// shut is an error once Close was called.
func (e *Engine) shut() error {
	if e.closed {
		return &runtime.Closed{Device: e.name}
	}
	return nil
}
