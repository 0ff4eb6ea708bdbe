package backends

import (
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/runtime/native"
)

func init() {
	engine.Environment(func() (engine.Options, string, error) {
		o, device, err := Settings(os.Getenv, os.Stderr)
		if o.Debug == 0 && o.Search == 0 {
			o.Log = nil // a program that did not ask for words on its standard error, or for what takes long, gets none
		}
		return o, device, err
	})
}

// SettingError says what is wrong with a variable of the environment.
type SettingError struct {
	Name, Value string
	Err         error
}

func (e *SettingError) Error() string { return fmt.Sprintf("%s=%s: %v", e.Name, e.Value, e.Err) }

// Unwrap gives the cause.
func (e *SettingError) Unwrap() error { return e.Err }

// Settings reads the environment into the options of devices and the name of the default one ("" where none is named). Every
// program that imports this package has them, unless it calls engine.Configure; they are read when it first uses a device.
func Settings(getenv func(string) string, log io.Writer) (o engine.Options, device string, err error) {
	o = engine.Options{CC: getenv("CC"), CacheDir: getenv("WEFT_CACHE"), Log: log}
	o.Plain = log != nil && (getenv("NO_COLOR") != "" || !terminal(log)) // as no-color.org has it
	device = getenv("DEV")
	for _, v := range []struct {
		name string
		set  func(string) error
	}{
		{"NOOPT", func(s string) (err error) { o.NoOpt, err = parseSwitch(s); return err }},
		{"BEAM", func(s string) (err error) { o.Search, err = parseNumber(s, 0, engine.MostSearch); return err }},
		{"UNCHECKED", func(s string) (err error) { o.Unchecked, err = parseSwitch(s); return err }},
		{"WEFT_THREADS", func(s string) (err error) { o.Threads, err = parseNumber(s, 1, native.MostThreads); return err }},
		{"WEFT_MEM", func(s string) (err error) { o.MemoryLimit, err = parseBytes(s); return err }},
		{"DEBUG", func(s string) (err error) { o.Debug, err = parseNumber(s, 0, 6); return err }},
		{"DEV", engine.Check},
	} {
		if s := getenv(v.name); s != "" {
			if err := v.set(s); err != nil {
				return o, "", &SettingError{v.name, s, err}
			}
		}
	}
	return o, device, nil
}

func parseNumber(s string, least, most int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("a number from %d to %d belongs there", least, most)
	}
	return n, nil
}

func parseSwitch(s string) (bool, error) {
	on, err := strconv.ParseBool(s)
	if err != nil {
		return false, fmt.Errorf("1 (on) or 0 (off) belongs there")
	}
	return on, nil
}

// parseBytes reads a number of bytes: "64M", "1.5G", "4096".
func parseBytes(s string) (int64, error) {
	units := map[byte]float64{'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30, 'T': 1 << 40}
	num, unit := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(s), "B"), "I"), 1.0
	if n := len(num); n > 0 && units[num[n-1]] > 0 {
		unit, num = units[num[n-1]], num[:n-1]
	}
	v, err := strconv.ParseFloat(num, 64)
	if err != nil || !(v*unit >= 1) || !(v*unit < math.MaxInt64) {
		return 0, fmt.Errorf("not a size in bytes; write it as 64M or 2G")
	}
	return int64(v * unit), nil
}
