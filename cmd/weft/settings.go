package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/weft-ml/weft/engine"
)

// settings reads the environment into the options of devices and the name of the default one.
func settings(getenv func(string) string, log io.Writer) (o engine.Options, device string, err error) {
	o = engine.Options{CC: getenv("CC"), CacheDir: getenv("WEFT_CACHE"), NoOpt: truth(getenv("NOOPT")), Unchecked: truth(getenv("UNCHECKED")), Log: log}
	if s := getenv("WEFT_THREADS"); s != "" {
		if o.Threads, err = strconv.Atoi(s); err != nil || o.Threads < 1 {
			return o, "", usagef("WEFT_THREADS=%s: a number of threads of at least 1 belongs there", s)
		}
	}
	if s := getenv("WEFT_MEM"); s != "" {
		if o.MemoryLimit, err = parseBytes(s); err != nil {
			return o, "", usagef("WEFT_MEM=%s: %w", s, err)
		}
	}
	if s := getenv("DEBUG"); s != "" {
		if o.Debug, err = strconv.Atoi(s); err != nil || o.Debug < 0 || o.Debug > 6 {
			return o, "", usagef("DEBUG=%s: a level from 0 to 6 belongs there", s)
		}
	}
	return o, getenv("DEV"), nil
}

// truth reads a switch: unset, empty and 0 are off.
func truth(s string) bool { return s != "" && s != "0" }

// parseBytes reads a number of bytes: "64M", "1.5G", "4096".
func parseBytes(s string) (int64, error) {
	units := map[byte]float64{'K': 1 << 10, 'M': 1 << 20, 'G': 1 << 30, 'T': 1 << 40}
	num, unit := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(s), "B"), "I"), 1.0
	if n := len(num); n > 0 && units[num[n-1]] > 0 {
		unit, num = units[num[n-1]], num[:n-1]
	}
	v, err := strconv.ParseFloat(num, 64)
	if err != nil || !(v > 0) || !(v*unit < math.MaxInt64) {
		return 0, fmt.Errorf("not a size in bytes; write it as 64M or 2G")
	}
	return int64(v * unit), nil
}

// sizeText writes a number of bytes for people.
func sizeText(n int64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"GB", 1 << 30}, {"MB", 1 << 20}, {"kB", 1 << 10}} {
		if float64(n) >= u.size {
			return fmt.Sprintf("%.1f %s", float64(n)/u.size, u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
