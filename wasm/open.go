package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-ml/weft/backends/page"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/engine/choose"
	"github.com/weft-ml/weft/wasm/wire"
)

var errNotOpen = errors.New("weft: no device is open yet; call open first")

// recovered tells the page of a device that was lost and is there again. Its number 0 is nobody's call.
func (s *server) recovered(r *engine.Recovery) {
	s.progress(0, wire.Record{
		{Name: "message", Value: r.String()}, {Name: "writes", Value: r.Writes}, {Name: "plays", Value: r.Plays}, {Name: "seconds", Value: r.Seconds},
	})
}

// choices is what the page keeps of devices' measurements; it comes with open and goes back with the answer.
type choices struct{ text string }

func (c *choices) Load() (string, error) { return c.text, nil }

func (c *choices) Save(text string) error {
	c.text = text
	return nil
}

// keepDirectives has searches go on from what the page kept; nil in engines that have no search.
var keepDirectives func(s *server, text string)

// open opens the device that was asked for, else the one that is fastest here, and says why.
func open(ctx context.Context, c *call) (any, error) {
	want, kept := "", &choices{}
	if c.given() {
		want = strings.ToUpper(c.text())
	} else if c.taken < len(c.args) {
		c.next()
	}
	if c.given() {
		kept.text = c.text()
	} else if c.taken < len(c.args) {
		c.next()
	}
	checks, search := c.truth(true), c.integer(0)
	var shipped []byte
	if c.given() {
		shipped = []byte(c.text())
	} else if c.taken < len(c.args) {
		c.next()
	}
	if c.given() {
		if text := c.text(); keepDirectives != nil {
			keepDirectives(c.server, text)
		}
	}
	if want != "" && !slices.Contains(page.Names, want) {
		return nil, fmt.Errorf("weft: there is no device %s in a page; there are %s", want, strings.Join(page.Names, ", "))
	}
	s := c.server
	later := want == "" && search == 0 && shipped == nil
	o := engine.Options{Recovered: c.server.recovered, Unchecked: !checks, Search: search, Directives: shipped, Later: later}
	if later {
		o.Returned = func(_ string, why error) { go s.returned(why, kept.text) } // it may not use the engine
	}
	engine.Configure(o, want)
	engine.KeepChoices(func(engine.Options) (choose.Store, error) { return kept, nil })
	e, err := engine.UseContext(ctx, want)
	if err != nil {
		if want == "" {
			return nil, fmt.Errorf("weft: %w", err)
		}
		return nil, fmt.Errorf("weft: %s cannot be used here: %w", want, err)
	}
	note := ""
	if later && e.Name() == page.Names[1] && engine.Decided() == nil {
		note = unmeasured
	}
	if d := engine.Decided(); d != nil && want == "" {
		if note = d.Failures(); note == "" {
			note = d.String()
		}
	}
	engine.Configure(o, e.Name())
	c.server.engine = e
	if note == unmeasured {
		go c.server.chooseLater(context.WithoutCancel(ctx), e, kept)
	}
	return wire.Record{
		{Name: "device", Value: e.Name()}, {Name: "detail", Value: e.Info().Detail}, {Name: "note", Value: note},
		{Name: "choices", Value: kept.text},
	}, nil
}
