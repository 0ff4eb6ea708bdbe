package backends

import (
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
	for _, s := range []string{"0", "false"} {
		o, _, err = Settings(from(map[string]string{"NOOPT": s}), nil)
		require.NoError(t, err)
		assert.False(t, o.NoOpt)
	}
	for _, c := range []struct{ name, value, want string }{
		{"WEFT_THREADS", "0", "a number from 1 to"}, {"WEFT_THREADS", "two", "a number from 1 to"},
		{"WEFT_MEM", "-1M", "write it as 64M"}, {"DEBUG", "7", "a number from 0 to 6"}, {"DEBUG", "*", "a number from 0 to 6"},
		{"BEAM", "65", "a number from 0 to 64"}, {"BEAM", "-1", "a number from 0 to 64"}, {"BEAM", "wide", "a number from 0 to 64"},
		{"NOOPT", "perhaps", "1 (on) or 0 (off)"}, {"DEV", "CPO", `unknown device "CPO": perhaps CPU is meant`},
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
