package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weft-ml/weft/backends/page"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/wasm/wire"
)

var errNotOpen = errors.New("weft: no device is open yet; call open first")

// recovered tells the page of a device that was lost and is there again. Its number 0 is nobody's call.
func (s *server) recovered(r *engine.Recovery) {
	s.progress(0, wire.Record{
		{Name: "message", Value: r.String()}, {Name: "writes", Value: r.Writes}, {Name: "plays", Value: r.Plays}, {Name: "seconds", Value: r.Seconds},
	})
}

// open opens the device that was asked for, else the best that works, and says why better ones were passed over.
func open(_ context.Context, c *call) (any, error) {
	want := ""
	if c.given() {
		want = strings.ToUpper(c.text())
	}
	o := engine.Options{Recovered: c.server.recovered}
	engine.Configure(o, "")
	var passed []string
	for _, name := range page.Names {
		if want != "" && want != name {
			continue
		}
		e, err := engine.Use(name)
		if err != nil {
			passed = append(passed, err.Error())
			continue
		}
		engine.Configure(o, name)
		c.server.engine = e
		return wire.Record{
			{Name: "device", Value: name}, {Name: "detail", Value: e.Info().Detail}, {Name: "note", Value: strings.Join(passed, "; ")},
		}, nil
	}
	if len(passed) == 0 {
		return nil, fmt.Errorf("weft: there is no device %s in a page; there are %s", want, strings.Join(page.Names, ", "))
	}
	return nil, fmt.Errorf("weft: %s cannot be used here: %s", want, strings.Join(passed, "; "))
}
