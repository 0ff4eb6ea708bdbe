package choose

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever is in the file of measurements, the right device is chosen, and what is kept then can be read.
func TestDamagedStore(t *testing.T) {
	m := newMachine()
	require.Equal(t, "WEBGPU", m.choose(much).Device)
	good := []byte(m.store.text)
	line := func(from, to string) func([]byte) []byte {
		return func(b []byte) []byte { return []byte(strings.Replace(string(b), from, to, 1)) }
	}
	for what, damage := range map[string]func(b []byte) []byte{
		"empty":        func([]byte) []byte { return nil },
		"half":         func(b []byte) []byte { return b[:len(b)/2] },
		"one less":     func(b []byte) []byte { return b[:len(b)-1] },
		"start":        func(b []byte) []byte { b[0] ^= 1; return b },
		"end":          func(b []byte) []byte { b[len(b)-2] ^= 0x40; return b },
		"garbage":      func(b []byte) []byte { return bytes.Repeat([]byte{0xff, 0, '\n', '\t'}, 1<<14) },
		"appended":     func(b []byte) []byte { return append(b, b...) },
		"not a number": line("1e-06", "NaN"),
		"infinite":     line("1e-06", "+Inf"),
		"negative":     line("1e-06", "-1"),
		"foreign":      line("choice", "speed"),
		"unknown":      line("WEBGPU\tCPU=", "ABACUS\tCPU="),
		"long":         func(b []byte) []byte { return append(b, bytes.Repeat([]byte("choice\ta\tb\tc\td\n"), 5000)...) },
	} {
		m := newMachine()
		m.store.text = string(damage(bytes.Clone(good)))
		require.Equal(t, "WEBGPU", m.choose(much).Device, what)
		require.Equal(t, "WEBGPU", m.choose(much).Device, what)
		_, err := parse(m.store.text)
		require.NoError(t, err, what)
	}
}

// What fails because somebody stops waiting is no measurement, and nothing is kept of it.
func TestCancelledChoice(t *testing.T) {
	m := newMachine()
	ctx, cancel := context.WithCancel(context.Background())
	c := Chooser{Name: "CPU", Store: m.store, Now: m.now, Base: Device{Probe: func() (Speed, error) { return m.processor, nil }},
		Others: []Candidate{{"WEBGPU", func() (Device, error) {
			cancel()
			return Device{}, ctx.Err()
		}}}}
	_, err := c.Choose(ctx, much)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, m.store.text)
}
