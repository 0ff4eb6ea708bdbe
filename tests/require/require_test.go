package require_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/weft-ml/weft/tests/require"
)

// spy records how a test would end.
type spy struct {
	testing.TB
	end string
}

func (s *spy) Helper()                   {}
func (s *spy) Skipf(f string, a ...any)  { s.end = "skip: " + fmt.Sprintf(f, a...) }
func (s *spy) Fatalf(f string, a ...any) { s.end = "fail: " + fmt.Sprintf(f, a...) }

func TestDevice(t *testing.T) {
	for _, c := range []struct {
		list string
		err  error
		want string
	}{
		{"", nil, ""},
		{"CPU", nil, ""},
		{"", errors.New("no compiler"), "skip: needs CPU: no compiler"},
		{"INTERP,REF", errors.New("no compiler"), "skip: needs CPU: no compiler"},
		{"INTERP, cpu", errors.New("no compiler"), "fail: WEFT_REQUIRE names CPU, which is missing: no compiler"},
	} {
		t.Setenv("WEFT_REQUIRE", c.list)
		s := &spy{TB: t}
		require.Device(s, "CPU", c.err)
		assert.Equal(t, c.want, s.end, "WEFT_REQUIRE=%q", c.list)
	}
}

func TestDataAndCompilerMissing(t *testing.T) {
	t.Setenv("WEFT_DATA", t.TempDir())
	t.Setenv("CC", "no-such-compiler")
	for list, want := range map[string]string{"": "skip: ", "DATA,CPU": "fail: "} {
		t.Setenv("WEFT_REQUIRE", list)
		s := &spy{TB: t}
		require.Data(s, "mnist")
		assert.Contains(t, s.end, want)
		assert.Contains(t, s.end, "set WEFT_DATA")
		require.Compiler(s)
		assert.Contains(t, s.end, want)
		assert.Contains(t, s.end, "no-such-compiler")
	}
}
