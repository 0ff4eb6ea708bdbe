package choose

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// memory keeps text for a test.
type memory struct {
	text       string
	load, save error
	saves      int
}

func (m *memory) Load() (string, error) { return m.text, m.load }

func (m *memory) Save(text string) error {
	m.saves++
	if m.save == nil {
		m.text = text
	}
	return m.save
}

// machine is a make-believe machine: a processor and an adapter, which count how often they are probed and opened.
type machine struct {
	processor, adapter Speed
	detail             string // of the adapter
	refused, broken    error  // opening the adapter; probing the processor
	store              *memory
	now                time.Time
	probes, opened     int
	said               []string
}

func (m *machine) choose(w Work) *Choice {
	c := Chooser{
		Name: "CPU", Store: m.store, Now: m.now, Log: func(s string) { m.said = append(m.said, s) },
		Base: Device{Detail: "a processor,\t2 threads", Probe: func() (Speed, error) { m.probes++; return m.processor, m.broken }},
		Others: []Candidate{{"WEBGPU", func() (Device, error) {
			m.opened++
			return Device{m.detail, func() (Speed, error) { m.probes++; return m.adapter, nil }}, m.refused
		}}},
	}
	choice, err := c.Choose(context.Background(), w)
	if err != nil {
		panic(err)
	}
	return choice
}

func newMachine() *machine {
	return &machine{
		processor: Speed{1e-6, 50e9, 10e9}, adapter: Speed{20e-6, 1e12, 200e9}, detail: "a fast adapter",
		store: &memory{}, now: time.Unix(1_700_000_000, 0),
	}
}

var (
	little = Work{Launches: 30, Flops: 1e6, Bytes: 1e5}
	much   = Work{Launches: 30, Flops: 1e10, Bytes: 1e9}
)

func TestThePlanDecides(t *testing.T) {
	m := newMachine()
	c := m.choose(little)
	assert.Equal(t, "CPU", c.Device)
	assert.Equal(t, "CPU is chosen for plans of about 30 launches, 0.001 GFLOP, 0.1 MB: CPU 0.06 ms (a processor, 2 threads), "+
		"WEBGPU 0.602 ms (a fast adapter)", c.String())
	assert.Equal(t, "WEBGPU", m.choose(much).Device)
	assert.Equal(t, 2, m.probes, "measured once")
	assert.Empty(t, m.said)
}

func TestSoftwareAdaptersLose(t *testing.T) {
	m := newMachine()
	m.adapter, m.detail = Speed{60e-6, 7e9, 4e9}, "llvmpipe"
	for _, w := range []Work{little, much, Usual} {
		assert.Equal(t, "CPU", m.choose(w).Device)
	}
	assert.Equal(t, 1, m.opened, "what is known to lose is not opened again")
}

func TestKeptWithinTheMargin(t *testing.T) {
	m := newMachine()
	require.Equal(t, "WEBGPU", m.choose(much).Device)
	later := func(flops float64) *Choice {
		m.now = m.now.Add(Fresh)
		m.processor.Flops, m.processor.Bytes = flops, 200e9
		return m.choose(much)
	}
	c := later(1.2e12) // 13.4 ms against 15.6
	assert.Equal(t, "WEBGPU", c.Device)
	assert.True(t, c.Kept)
	assert.Contains(t, c.String(), "no other is 1.3 × faster")
	c = later(5e12) // 7 ms
	assert.Equal(t, "CPU", c.Device)
	assert.False(t, c.Kept)
	assert.Equal(t, 6, m.probes)
}

func TestAnotherAdapterIsMeasured(t *testing.T) {
	m := newMachine()
	require.Equal(t, "WEBGPU", m.choose(much).Device)
	m.adapter, m.detail = Speed{60e-6, 7e9, 4e9}, "llvmpipe"
	assert.Equal(t, "CPU", m.choose(much).Device)
	assert.Equal(t, 4, m.probes)
}

func TestAnAdapterThatIsGone(t *testing.T) {
	m := newMachine()
	require.Equal(t, "WEBGPU", m.choose(much).Device)
	m.refused = errors.New("WEBGPU: there is no\nadapter")
	c := m.choose(much)
	assert.Equal(t, "CPU", c.Device)
	assert.Equal(t, "CPU is chosen; WEBGPU cannot be used: there is no adapter", c.String())
	assert.Equal(t, 2, m.probes, "there is nothing to compare")
	m.refused = nil
	assert.Equal(t, "WEBGPU", m.choose(much).Device, "as soon as it is back")
}

func TestABaseThatCannotBeMeasured(t *testing.T) {
	m := newMachine()
	m.broken = errors.New("out of order")
	assert.Equal(t, "CPU", m.choose(much).Device)
	m = newMachine()
	m.adapter = Speed{}
	assert.Contains(t, m.choose(much).String(), "WEBGPU cannot be used: the probe measured")
}

func TestWhatIsKept(t *testing.T) {
	m := newMachine()
	m.choose(much)
	assert.Equal(t, "weft choices 1\n"+
		"speed\tCPU a processor, 2 threads | WEBGPU\tCPU\t1700000000\t1e-06\t5e+10\t1e+10\ta processor, 2 threads\t\n"+
		"speed\tCPU a processor, 2 threads | WEBGPU\tWEBGPU\t1700000000\t2e-05\t1e+12\t2e+11\ta fast adapter\t\n"+
		"choice\tCPU a processor, 2 threads | WEBGPU\t5/34/30\tWEBGPU\tCPU=300ms WEBGPU=15.6ms\n", m.store.text)
	m.choose(much)
	assert.Equal(t, 1, m.store.saves, "nothing new is not written")
	for _, bad := range []string{
		"weft choices 9\n", "\x00\x01", m.store.text + "choice\tcut of",
		strings.Replace(m.store.text, "1e-06", "soon", 1), strings.Replace(m.store.text, "1700000000", "today", 1),
	} {
		n := newMachine()
		n.store.text = bad
		assert.Equal(t, "WEBGPU", n.choose(much).Device)
		assert.Equal(t, 2, n.probes)
		require.Len(t, n.said, 1)
		assert.Contains(t, n.said[0], "cannot be read")
		assert.Equal(t, m.store.text, n.store.text)
	}
	n := newMachine()
	n.store.save, n.store.load = errors.New("disk full"), errors.New("no such folder")
	assert.Equal(t, "WEBGPU", n.choose(much).Device)
	assert.Len(t, n.said, 2)
	for i := range 2 * maxLines {
		m.choose(Work{Launches: 1 << (i % 20), Flops: 1 << (i / 20), Bytes: 1 << 30})
	}
	assert.LessOrEqual(t, strings.Count(m.store.text, "\n"), maxLines+1)
}
