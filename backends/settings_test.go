package backends

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/engine"
)

func from(env map[string]string) func(string) string { return func(k string) string { return env[k] } }

func TestSettings(t *testing.T) {
	o, dev, err := Settings(from(map[string]string{
		"CC": "gcc -m64", "WEFT_CACHE": "/c", "NOOPT": "1", "WEFT_THREADS": "3", "WEFT_MEM": "64M", "DEBUG": "4", "DEV": "interp",
		"BEAM": "4",
	}), nil)
	require.NoError(t, err)
	assert.Equal(t, "interp", dev)
	assert.Equal(t, []any{"gcc -m64", "/c", true, 3, int64(64 << 20), 4, 4}, []any{o.CC, o.CacheDir, o.NoOpt, o.Threads, o.MemoryLimit, o.Debug, o.Search})
	o, dev, err = Settings(from(nil), nil)
	require.NoError(t, err)
	assert.Empty(t, dev)
	assert.Equal(t, engine.Options{}, o)
	_, dev, err = Settings(from(map[string]string{"DEV": "cpu:1"}), nil)
	require.NoError(t, err, "a device of a kind, by its number")
	assert.Equal(t, "cpu:1", dev)
	for _, s := range []string{"0", "false"} {
		o, _, err = Settings(from(map[string]string{"NOOPT": s}), nil)
		require.NoError(t, err)
		assert.False(t, o.NoOpt)
	}
	for _, c := range []struct{ name, value, want string }{
		{"WEFT_THREADS", "0", "a number from 1 to"}, {"WEFT_THREADS", "two", "a number from 1 to"},
		{"WEFT_THREADS", "4097", "a number from 1 to 4096"},
		{"WEFT_MEM", "-1M", "write it as 64M"}, {"DEBUG", "7", "a number from 0 to 6"}, {"DEBUG", "*", "a number from 0 to 6"},
		{"BEAM", "65", "a number from 0 to 64"}, {"BEAM", "-1", "a number from 0 to 64"}, {"BEAM", "wide", "a number from 0 to 64"},
		{"NOOPT", "perhaps", "1 (on) or 0 (off)"}, {"DEV", "CPO", `unknown device "CPO": perhaps CPU is meant`},
		{"DEV", "CPU:64", "a number from 0 to 63"},
	} {
		_, _, err := Settings(from(map[string]string{c.name: c.value}), nil)
		var wrong *SettingError
		require.ErrorAs(t, err, &wrong)
		assert.Contains(t, err.Error(), c.name+"="+c.value+": ")
		assert.Contains(t, err.Error(), c.want)
	}
}

func TestParseBytes(t *testing.T) {
	for s, want := range map[string]int64{"64M": 64 << 20, "64mb": 64 << 20, "1.5GiB": 3 << 29, "4096": 4096, "4k": 4096} {
		n, err := parseBytes(s)
		assert.NoError(t, err)
		assert.Equal(t, want, n, s)
	}
	for _, s := range []string{"", "M", "0", "-5", "NaN", "inf", "9e99", "1X", "0.1", "0x10p-9"} {
		_, err := parseBytes(s)
		assert.Error(t, err, s)
	}
}

// Colours are for terminals, and for those who did not say that they want none.
func TestPlain(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer file.Close()
	for _, log := range []io.Writer{file, &strings.Builder{}} {
		o, _, err := Settings(from(nil), log)
		require.NoError(t, err)
		assert.True(t, o.Plain)
	}
	shown, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // a device of characters, as a terminal is
	require.NoError(t, err)
	defer shown.Close()
	for value, plain := range map[string]bool{"": false, "1": true} {
		o, _, err := Settings(from(map[string]string{"NO_COLOR": value}), shown)
		require.NoError(t, err)
		assert.Equal(t, plain, o.Plain, value)
	}
}
