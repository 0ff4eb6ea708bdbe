// Package choose picks a device where nobody named one: it compares how long a plan would take on each.
//
// A probe measures three figures of a device: the time of a launch, arithmetic and memory traffic. The time of a plan
// follows from its numbers of launches, operations and bytes, without compiling it for every device. The choice is
// written down with the times, and stays until another device is faster by Margin.
//
// It refuses to know what a device is, what time it is and where text is kept: all of that is handed in.
package choose

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"time"
)

const (
	// Margin is how many times faster another device must be than the one that was chosen before.
	Margin = 1.3
	// Fresh is how long measurements are believed.
	Fresh = 7 * 24 * time.Hour
)

// Work is what the time of a plan depends on.
type Work struct {
	Launches     int
	Flops, Bytes int64
}

// Usual is the work of a program that does not say what it will do: a step of training a small convolutional network
// on 32 pictures.
var Usual = Work{Launches: 40, Flops: 400e6, Bytes: 80e6}

func (w Work) String() string {
	return fmt.Sprintf("%d launches, %.3g GFLOP, %.3g MB", w.Launches, float64(w.Flops)*1e-9, float64(w.Bytes)*1e-6)
}

// class is the same for work of about the same size.
func (w Work) class() string {
	return fmt.Sprintf("%d/%d/%d", bits.Len(uint(w.Launches)), bits.Len64(uint64(w.Flops)), bits.Len64(uint64(w.Bytes)))
}

// Speed is what a probe measures: seconds a launch, operations a second, bytes a second.
type Speed struct{ Launch, Flops, Bytes float64 }

// Seconds is how long work takes.
func (s Speed) Seconds(w Work) float64 {
	return float64(w.Launches)*s.Launch + float64(w.Flops)/s.Flops + float64(w.Bytes)/s.Bytes
}

func (s Speed) sane() bool {
	for _, v := range []float64{s.Launch, s.Flops, s.Bytes} {
		if !(v > 0 && v <= math.MaxFloat64) {
			return false
		}
	}
	return true
}

// Device is one that is open.
type Device struct {
	Detail string // what it is; other measurements are needed where that changes
	Probe  func() (Speed, error)
}

// Candidate is a device to compare with.
type Candidate struct {
	Name string
	Open func() (Device, error)
}

// Store keeps text between runs. Load gives "" where there is none yet.
type Store interface {
	Load() (string, error)
	Save(text string) error
}

// Time is how long the work takes on a device.
type Time struct {
	Device  string
	Detail  string
	Seconds float64 // 0: not measured, there being nothing to compare with
	Failure string  // why it cannot be used, instead
}

func (t Time) failure() string {
	return fmt.Sprintf("%s cannot be used: %s", t.Device, strings.TrimPrefix(t.Failure, t.Device+": "))
}

// Choice is a device and why.
type Choice struct {
	Device string
	Work   Work
	Times  []Time // the base first
	Kept   bool   // another is faster, but not by Margin
}

// String says which device was chosen and why, with all times.
func (c *Choice) String() string {
	var parts []string
	for _, t := range c.Times {
		if t.Failure != "" {
			parts = append(parts, t.failure())
			continue
		}
		if t.Seconds == 0 {
			return fmt.Sprintf("%s is chosen; %s", c.Device, c.Failures())
		}
		parts = append(parts, fmt.Sprintf("%s %s (%s)", t.Device, duration(t.Seconds), t.Detail))
	}
	why := ""
	if c.Kept {
		why = fmt.Sprintf("; it was chosen before, and no other is %.1f × faster", Margin)
	}
	return fmt.Sprintf("%s is chosen for plans of about %v: %s%s", c.Device, c.Work, strings.Join(parts, ", "), why)
}

// Failures says why devices cannot be used; "" if all can.
func (c *Choice) Failures() string {
	var parts []string
	for _, t := range c.Times {
		if t.Failure != "" {
			parts = append(parts, t.failure())
		}
	}
	return strings.Join(parts, "; ")
}

// duration is a time in seconds for people.
func duration(s float64) string {
	if s >= 1 {
		return fmt.Sprintf("%.3g s", s)
	}
	return fmt.Sprintf("%.3g ms", s*1e3)
}

// Chooser decides between a base, which is open, and others.
type Chooser struct {
	Name   string // of the base
	Base   Device
	Others []Candidate
	Store  Store        // nil: nothing is kept
	Now    time.Time    // when it is
	Log    func(string) // hears of what went wrong and was mended; nil: nobody does
}

// Known is the choice for some work where devices were measured before and are as they were; else nil.
func (c *Chooser) Known(w Work) *Choice { return c.known(c.load(), w) }

func (c *Chooser) known(b *book, w Work) *Choice {
	speeds, ok := b.fresh(c)
	if !ok {
		return nil
	}
	choice := c.decide(b, speeds, w)
	if choice.Device != c.Name && !c.still(choice) {
		return nil
	}
	c.save(b, choice)
	return choice
}

// Choose picks the device for some work. Candidates are opened only where they are measured or chosen. The error is that of
// ctx, which Open and Probe are to end with: what failed for that is no measurement.
func (c *Chooser) Choose(ctx context.Context, w Work) (*Choice, error) {
	b := c.load()
	if choice := c.known(b, w); choice != nil {
		return choice, ctx.Err()
	}
	speeds, comparable := c.measure()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	choice := c.decide(b, speeds, w)
	if !comparable {
		return choice, nil
	}
	b.speeds(c, speeds)
	c.save(b, choice)
	return choice, nil
}

// still opens what was chosen from what is written, and says whether it is what was measured.
func (c *Chooser) still(choice *Choice) bool {
	for i, o := range c.Others {
		if o.Name != choice.Device {
			continue
		}
		d, err := o.Open()
		return err == nil && line(d.Detail) == choice.Times[1+i].Detail
	}
	return false
}

// measured is what is known of a device.
type measured struct {
	name, detail string
	speed        Speed
	failure      string
}

// measure probes the base and all others. Where no other opens there is nothing to compare: nothing is measured then, and
// nothing should be kept, so that a device is found as soon as there is one.
func (c *Chooser) measure() (all []measured, comparable bool) {
	all = []measured{{name: c.Name, detail: line(c.Base.Detail)}}
	probe := func(m *measured, d Device) {
		var err error
		m.speed, err = d.Probe()
		if err == nil && !m.speed.sane() {
			err = fmt.Errorf("the probe measured %v", m.speed)
		}
		if err != nil {
			m.failure = line(err.Error())
		}
	}
	for _, o := range c.Others {
		d, err := o.Open()
		m := measured{name: o.Name, detail: line(d.Detail)}
		if err != nil {
			m.failure = line(err.Error())
		} else {
			probe(&m, d)
			comparable = true
		}
		all = append(all, m)
	}
	if comparable {
		probe(&all[0], c.Base)
	}
	return all, comparable
}

// line makes one line of a text, without tabs.
func line(s string) string { return strings.Join(strings.Fields(s), " ") }

// decide compares. Where the base cannot be measured it is taken: it opened, and that is all that is known.
func (c *Chooser) decide(b *book, speeds []measured, w Work) *Choice {
	choice := &Choice{Device: c.Name, Work: w}
	best := map[string]float64{}
	for _, m := range speeds {
		t := Time{Device: m.name, Detail: m.detail, Failure: m.failure}
		if m.failure == "" && m.speed.sane() {
			t.Seconds = m.speed.Seconds(w)
			best[m.name] = t.Seconds
		}
		choice.Times = append(choice.Times, t)
	}
	if _, ok := best[c.Name]; !ok {
		return choice
	}
	fastest := slices.MinFunc(choice.Times, func(x, y Time) int {
		switch {
		case x.Failure != y.Failure && (x.Failure == "" || y.Failure == ""):
			return len(x.Failure) - len(y.Failure)
		case x.Seconds < y.Seconds:
			return -1
		case x.Seconds > y.Seconds:
			return 1
		}
		return 0
	})
	choice.Device = fastest.Device
	if before := b.choice(c.key(), w.class()); before != "" && before != fastest.Device {
		if t, ok := best[before]; ok && t < Margin*fastest.Seconds {
			choice.Device, choice.Kept = before, true
		}
	}
	return choice
}

// key is what measurements belong to: this machine, as far as its processor tells, and the devices compared.
func (c *Chooser) key() string {
	k := c.Name + " " + line(c.Base.Detail)
	for _, o := range c.Others {
		k += " | " + o.Name
	}
	return k
}

func (c *Chooser) say(format string, a ...any) {
	if c.Log != nil {
		c.Log(fmt.Sprintf(format, a...))
	}
}
