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

// compare decides between the base and others, closes those that lost and gives the winner.
func compare(ctx context.Context, base *Engine, others []Backend) (*Engine, error) {
	say := func(text string) {
		if options.Log != nil {
			fmt.Fprintf(options.Log, "weft: %s\n", text)
		}
	}
	c := choose.Chooser{Name: base.name, Now: time.Now(), Log: say, Base: asDevice(ctx, base)}
	if keep != nil {
		var err error
		if c.Store, err = keep(options); err != nil {
			say(fmt.Sprintf("the choice of a device cannot be kept: %v", err))
		}
	}
	opened := map[string]*Engine{base.name: base}
	for _, b := range others {
		c.Others = append(c.Others, choose.Candidate{Name: b.Name, Open: func() (choose.Device, error) {
			e := opened[b.Name]
			if e == nil {
				var err error
				if e, err = New(b, during(ctx, options)); err != nil {
					return choose.Device{}, err
				}
				opened[b.Name] = e
			}
			return asDevice(ctx, e), nil
		}})
	}
	work := options.Work
	if work == (choose.Work{}) {
		work = choose.Usual
	}
	choice, err := c.Choose(ctx, work)
	if err != nil {
		for name, e := range opened {
			delete(engines, name)
			_ = e.machine.Device.Close() // nothing is on it
		}
		return nil, fmt.Errorf("measure devices: %w", err)
	}
	decided = choice
	if options.Debug >= debugPlans {
		say(decided.String())
	}
	for name, e := range opened {
		if name != decided.Device {
			delete(engines, name)
			_ = e.machine.Device.Close() // nothing is on it
		}
	}
	engines[decided.Device] = opened[decided.Device]
	return opened[decided.Device], nil
}

func asDevice(ctx context.Context, e *Engine) choose.Device {
	return choose.Device{Detail: e.Info().Detail, Probe: func() (choose.Speed, error) { return e.Probe(ctx) }}
}
