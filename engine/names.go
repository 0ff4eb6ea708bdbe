package engine

import (
	"fmt"
	"strings"
)

// UnknownDevice says that no backend has this name.
type UnknownDevice struct {
	Name  string
	Known []string // those that this program has
}

// Unknown is the error for a name that no backend has.
func Unknown(name string) *UnknownDevice { return &UnknownDevice{name, Names()} }

func (e *UnknownDevice) Error() string {
	said := advice(deviceName(e.Name), e.Known)
	if len(e.Known) > 0 {
		said = append(said, "there are "+strings.Join(e.Known, ", "))
	}
	return fmt.Sprintf("unknown device %q: %s", e.Name, strings.Join(said, "; "))
}
