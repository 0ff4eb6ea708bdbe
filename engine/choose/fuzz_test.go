package choose

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tests/bounded"
)

type text struct{ is string }

func (s *text) Load() (string, error)   { return s.is, nil }
func (s *text) Save(words string) error { s.is = words; return nil }

// Whatever the file of measurements holds: no panic, no memory beyond its own, a device is chosen, and what is kept then can be read.
func FuzzBook(f *testing.F) {
	f.Add(version + "\n")
	f.Add(version + "\nspeed\tk\tCPU\t1700000000\t1e-6\t1e9\t1e10\ta processor\t\nchoice\tk\t1/2/3\tCPU\tCPU=1ms\n")
	f.Add(version + "\nspeed\tk\tCPU\t-9223372036854775808\tNaN\tInf\t-0\t\t\n")
	f.Add(version + strings.Repeat("\nchoice\t\t\t\t", 20))
	device := func() (Device, error) {
		return Device{Detail: "a device", Probe: func() (Speed, error) { return Speed{1e-6, 1e9, 1e9}, nil }}, nil
	}
	f.Fuzz(func(t *testing.T, words string) {
		bounded.Memory(t, len(words), 1024, func() {
			b, err := parse(words)
			require.Equal(t, err == nil, b != nil)
		})
		base, _ := device()
		store := &text{words}
		c := Chooser{Name: "CPU", Now: time.Unix(1700000100, 0), Store: store, Base: base, Others: []Candidate{{Name: "WEBGPU", Open: device}}}
		choice, err := c.Choose(t.Context(), Usual)
		require.NoError(t, err)
		require.Contains(t, []string{"CPU", "WEBGPU"}, choice.Device)
		_, err = parse(store.is)
		require.NoError(t, err)
	})
}
