package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/engine"
)

// settings are those of every program; what is wrong with them is a call that makes no sense.
func settings(getenv func(string) string, log io.Writer) (engine.Options, string, error) {
	o, device, err := backends.Settings(getenv, log)
	var wrong *backends.SettingError
	if errors.As(err, &wrong) {
		err = usageError{err}
	}
	return o, device, err
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
