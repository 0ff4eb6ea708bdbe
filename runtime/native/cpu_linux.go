package native

import (
	"os"
	"runtime"
	"strings"
)

// processor names the processor for people; it is not part of any cache key.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // unreadable or without the line: the fallback below
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
