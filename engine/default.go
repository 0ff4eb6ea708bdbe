package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-ml/weft/engine/choose"
	"github.com/weft-ml/weft/runtime"
)

var (
	keep    func(o Options) (choose.Store, error)
	decided *choose.Choice // of this process, once there was something to choose from
)

// KeepChoices says where measurements of devices are kept between runs; package backends calls it.
func KeepChoices(store func(o Options) (choose.Store, error)) {
	mu.Lock()
	defer mu.Unlock()
	keep = store
}

// Decided says why the default device is the one it is; nil if it was named, or there was only one.
func Decided() *choose.Choice {
	mu.Lock()
	defer mu.Unlock()
	return decided
}

// chooseDefault opens the default device: the best by rank that works, unless one that is to be compared with it is faster
// for the work at hand. A process chooses once.
func chooseDefault(ctx context.Context) (*Engine, error) {
	if decided != nil {
		if e, err := open(ctx, decided.Device, nil); err == nil {
			fallback = e.name
			return e, nil
		}
	}
	var others []Backend
	for _, b := range backends {
		if b.Compare {
			others = append(others, b)
		}
	}
	slices.SortStableFunc(others, func(a, b Backend) int { return strings.Compare(a.Name, b.Name) })
	e, err := best(ctx)
	var wrong *runtime.Misconfigured
	for i := 0; err != nil && ctx.Err() == nil && !errors.As(err, &wrong) && i < len(others); i++ {
		if only, failed := open(ctx, others[i].Name, nil); failed == nil {
			e, err, others = only, nil, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if len(others) > 0 {
		if e, err = compare(ctx, e, others); err != nil {
			return nil, err
		}
	}
	fallback = e.name
	return e, nil
}

// best opens the first default backend that works and says what was passed over.
func best(ctx context.Context) (*Engine, error) {
	var order []Backend
	for _, b := range backends {
		if b.Rank > 0 {
			order = append(order, b)
		}
	}
	if len(order) == 0 {
		return nil, &UnknownDevice{Name: ""}
	}
	slices.SortStableFunc(order, func(a, b Backend) int { return a.Rank - b.Rank })
	var failed []string
	for _, b := range order {
		e, err := open(ctx, b.Name, nil)
		var wrong *runtime.Misconfigured
		if errors.As(err, &wrong) || err != nil && ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			failed = append(failed, fmt.Sprintf("%s: %s", b.Name, strings.TrimPrefix(err.Error(), b.Name+": ")))
			continue
		}
		if len(failed) > 0 && options.Log != nil {
			fmt.Fprintf(options.Log, "weft: using %s (%s)\n", b.Name, strings.Join(failed, "; "))
		}
		return e, nil
	}
	return nil, fmt.Errorf("no device can be opened: %s", strings.Join(failed, "; "))
}

// chooser compares the device of a name with others; open gives an engine of a backend to measure it.
func chooser(base string, detail choose.Device, others []Backend, open func(b Backend) (choose.Device, error)) *choose.Chooser {
	c := &choose.Chooser{Name: base, Now: time.Now(), Log: tell, Base: detail}
	if keep != nil {
		var err error
		if c.Store, err = keep(options); err != nil {
			tell(fmt.Sprintf("the choice of a device cannot be kept: %v", err))
		}
	}
	for _, b := range others {
		c.Others = append(c.Others, choose.Candidate{Name: b.Name, Open: func() (choose.Device, error) { return open(b) }})
	}
	return c
}

func tell(text string) {
	if options.Log != nil {
		fmt.Fprintf(options.Log, "weft: %s\n", text)
	}
}

// usual is the work that devices are compared for.
func usual() choose.Work {
	if options.Work == (choose.Work{}) {
		return choose.Usual
	}
	return options.Work
}

// compare decides between the base and others, closes those that lost and gives the winner.
func compare(ctx context.Context, base *Engine, others []Backend) (*Engine, error) {
	opened := map[string]*Engine{base.name: base}
	c := chooser(base.name, asDevice(ctx, base), others, func(b Backend) (choose.Device, error) {
		e := opened[b.Name]
		if e == nil {
			var err error
			if e, err = New(b, during(ctx, options)); err != nil {
				return choose.Device{}, err
			}
			opened[b.Name] = e
		}
		return asDevice(ctx, e), nil
	})
	choice, err := (*choose.Choice)(nil), error(nil)
	if options.Later {
		choice = c.Known(usual())
	} else if choice, err = c.Choose(ctx, usual()); err != nil {
		for name, e := range opened {
			delete(engines, name)
			_ = e.machine.Device.Close() // nothing is on it
		}
		return nil, fmt.Errorf("measure devices: %w", err)
	}
	name := base.name
	if decided = choice; choice != nil {
		name = choice.Device
		if options.Debug >= debugPlans {
			tell(choice.String())
		}
	}
	for other, e := range opened {
		if other != name {
			delete(engines, other)
			_ = e.machine.Device.Close() // nothing is on it
		}
	}
	engines[name] = opened[name]
	return opened[name], nil
}

// Choose measures the device that the engine is on and those that are compared with it, keeps what it finds, and has the engine go on
// with the fastest. It is for a default device that was opened with Options.Later. The engine may be used meanwhile, which would disturb
// the measuring: that has engines of its own, and what ends by ctx is no measurement.
func (e *Engine) Choose(ctx context.Context) (*choose.Choice, error) {
	mu.Lock()
	var others []Backend
	for _, b := range backends {
		if b.Compare && b.Name != e.Name() {
			others = append(others, b)
		}
	}
	slices.SortStableFunc(others, func(a, b Backend) int { return strings.Compare(a.Name, b.Name) })
	o := during(ctx, options)
	var opened []*Engine
	open := func(b Backend) (choose.Device, error) {
		x, err := New(b, o)
		if err != nil {
			return choose.Device{}, err
		}
		opened = append(opened, x)
		return asDevice(ctx, x), nil
	}
	own, _ := backends[e.Name()]
	base := choose.Device{Detail: e.Info().Detail, Probe: func() (choose.Speed, error) {
		d, err := open(own)
		if err != nil {
			return choose.Speed{}, err
		}
		return d.Probe()
	}}
	c := chooser(e.Name(), base, others, open)
	work := usual()
	mu.Unlock()
	choice, err := c.Choose(ctx, work)
	for _, x := range opened {
		_ = x.Close() // nothing is on it
	}
	if err != nil {
		return nil, fmt.Errorf("measure devices: %w", err)
	}
	if choice.Device != e.Name() {
		if err := e.Move(ctx, choice.Device); err != nil {
			return nil, err
		}
	}
	mu.Lock()
	decided = choice
	mu.Unlock()
	return choice, nil
}

func asDevice(ctx context.Context, e *Engine) choose.Device {
	return choose.Device{Detail: e.Info().Detail, Probe: func() (choose.Speed, error) { return e.Probe(ctx) }}
}
