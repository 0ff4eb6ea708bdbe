// Package require is how tests say what they need: a device, a compiler, a folder of data.
//
// A test whose need is not met is skipped with the reason, and fails where the environment
// variable WEFT_REQUIRE names the need, so that CI cannot silently test less. The package
// refuses to know how a device is opened: the test tries, and hands over the error.
//
//	dev, err := backends.Open("CPU")
//	require.Device(t, "CPU", err)
package require

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Required says whether WEFT_REQUIRE, a comma-separated list such as "CPU,INTERP,DATA", names
// the need.
func Required(need string) bool {
	return slices.ContainsFunc(strings.Split(os.Getenv("WEFT_REQUIRE"), ","), func(s string) bool {
		return strings.EqualFold(strings.TrimSpace(s), need)
	})
}

// Device ends the test unless why is nil: the test needs the device name and why says what it
// lacks. Names are those of devices (CPU, INTERP, NULL, REF, …).
func Device(t testing.TB, name string, why error) {
	t.Helper()
	if why != nil {
		missing(t, name, why.Error())
	}
}

// Compiler returns the C compiler that the CPU device would use ($CC, else clang, else gcc,
// else cc), or ends the test. Where WEFT_REQUIRE names CPU a missing one is a failure.
func Compiler(t testing.TB) string {
	t.Helper()
	names := []string{"clang", "gcc", "cc"}
	if cc := os.Getenv("CC"); cc != "" {
		names = []string{cc}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing(t, "CPU", "no C compiler: none of "+strings.Join(names, ", ")+" is on the PATH")
	return ""
}

// Data returns the path of a file or folder of the shared test data, or ends the test. The data
// lies in the folder WEFT_DATA, else in ../shared/data beside the repository. Where
// WEFT_REQUIRE names DATA missing data is a failure.
func Data(t testing.TB, elem ...string) string {
	t.Helper()
	dir := os.Getenv("WEFT_DATA")
	if dir == "" {
		dir = filepath.Join(Root(t), "..", "shared", "data")
	}
	path := filepath.Join(append([]string{dir}, elem...)...)
	if _, err := os.Stat(path); err != nil {
		missing(t, "DATA", err.Error()+"; set WEFT_DATA to the folder of test data")
	}
	return path
}

// Root returns the folder of the repository: the one above the test that holds go.mod.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			t.Fatal("no go.mod above the test's folder")
		}
		dir = filepath.Dir(dir)
	}
}

func missing(t testing.TB, need, why string) {
	t.Helper()
	if Required(need) {
		t.Fatalf("WEFT_REQUIRE names %s, which is missing: %s", need, why)
		return
	}
	t.Skipf("needs %s: %s", need, why)
}
