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

// Advice, if set, says of a name that no backend has what may be meant and what a program imports to have it. Package
// backends, which knows what there is to import, sets it.
var Advice func(name string, known []string) []string

func (e *UnknownDevice) Error() string {
	said := []string{"no devices are linked in; import _ \"github.com/weft-ml/weft/backends\""}
	if len(e.Known) > 0 {
		said = said[:0]
		if Advice != nil {
			kind, _, _ := strings.Cut(deviceName(e.Name), ":")
			said = Advice(kind, e.Known)
		}
		said = append(said, "there are "+strings.Join(e.Known, ", "))
	}
	return fmt.Sprintf("unknown device %q: %s", e.Name, strings.Join(said, "; "))
}
