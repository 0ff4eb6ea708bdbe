package choose

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// What is kept is text: a first line with the version, then lines of fields separated by tabs:
//
//	speed   key  device  seconds since 1970  seconds a launch  operations a second  bytes a second  detail  failure
//	choice  key  class of work  device  times
const version = "weft choices 1"

// maxLines is how many lines are kept; the oldest go first.
const maxLines = 200

type book struct {
	lines [][]string
	dirty bool // there is something new
}

// load reads what is kept. What cannot be read is left, with a line that says so.
func (c *Chooser) load() *book {
	if c.Store == nil {
		return &book{}
	}
	text, err := c.Store.Load()
	if err == nil && text != "" {
		b, wrong := parse(text)
		if wrong == nil {
			return b
		}
		err = wrong
	}
	if err != nil {
		c.say("the measurements of devices cannot be read (%v); they are made anew", err)
	}
	return &book{}
}

func parse(text string) (*book, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if lines[0] != version {
		return nil, fmt.Errorf("the first line is not %q", version)
	}
	b := &book{}
	for i, l := range lines[1:] {
		f := strings.Split(l, "\t")
		ok := f[0] == "choice" && len(f) == 5
		if f[0] == "speed" && len(f) == 9 {
			_, err := strconv.ParseInt(f[3], 10, 64)
			ok = err == nil
			for _, v := range f[4:7] {
				_, err := strconv.ParseFloat(v, 64)
				ok = ok && err == nil
			}
		}
		if !ok {
			return nil, fmt.Errorf("line %d has another form", i+2)
		}
		b.lines = append(b.lines, f)
	}
	return b, nil
}

// save writes the choice down.
func (c *Chooser) save(b *book, choice *Choice) {
	if c.Store == nil {
		return
	}
	times := ""
	for _, t := range choice.Times {
		if t.Failure == "" {
			times += fmt.Sprintf(" %s=%s", t.Device, strings.ReplaceAll(duration(t.Seconds), " ", ""))
		}
	}
	l := []string{"choice", c.key(), choice.Work.class(), choice.Device, strings.TrimSpace(times)}
	if b.put(3, l); !b.dirty {
		return
	}
	var text strings.Builder
	text.WriteString(version + "\n")
	for _, l := range b.lines {
		text.WriteString(strings.Join(l, "\t") + "\n")
	}
	if err := c.Store.Save(text.String()); err != nil {
		c.say("the choice of a device cannot be kept: %v", err)
	}
}

// put replaces the line that begins with the same n fields.
func (b *book) put(n int, l []string) {
	begin := strings.Join(l[:n], "\t")
	for i, old := range b.lines {
		if len(old) < n || strings.Join(old[:n], "\t") != begin {
			continue
		}
		if strings.Join(old, "\t") != strings.Join(l, "\t") {
			b.lines[i], b.dirty = l, true
		}
		return
	}
	b.lines, b.dirty = append(b.lines, l), true
	b.lines = b.lines[max(0, len(b.lines)-maxLines):]
}

// choice is the device that was chosen before, or "".
func (b *book) choice(key, class string) string {
	for _, l := range b.lines {
		if l[0] == "choice" && l[1] == key && l[2] == class {
			return l[3]
		}
	}
	return ""
}

// speeds writes measurements down.
func (b *book) speeds(c *Chooser, all []measured) {
	for _, m := range all {
		f := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
		b.put(3, []string{"speed", c.key(), m.name, strconv.FormatInt(c.Now.Unix(), 10),
			f(m.speed.Launch), f(m.speed.Flops), f(m.speed.Bytes), m.detail, m.failure})
	}
}

// fresh gives what was measured of all devices, unless some of it is missing or old.
func (b *book) fresh(c *Chooser) ([]measured, bool) {
	names := []string{c.Name}
	for _, o := range c.Others {
		names = append(names, o.Name)
	}
	var all []measured
	for _, n := range names {
		for _, l := range b.lines {
			if l[0] != "speed" || l[1] != c.key() || l[2] != n {
				continue
			}
			v := make([]float64, 4)
			for i := range v {
				v[i], _ = strconv.ParseFloat(l[3+i], 64) // parse has looked at them
			}
			age := c.Now.Sub(time.Unix(int64(v[0]), 0))
			m := measured{name: n, speed: Speed{v[1], v[2], v[3]}, detail: l[7], failure: l[8]}
			if age >= 0 && age < Fresh && (m.failure != "" || m.speed.sane()) {
				all = append(all, m)
			}
		}
	}
	return all, len(all) == len(names)
}
