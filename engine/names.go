package engine

import (
	"fmt"
	"strings"
)

// UnknownDevice says that there is no device of this name.
type UnknownDevice struct {
	Name   string
	Known  []string // those that this program has
	Reason string   // what is wrong with a name that begins with one of them
}

// Unknown is the error for a name that no backend has.
func Unknown(name string) *UnknownDevice { return &UnknownDevice{Name: name, Known: Names()} }

// Check says what is wrong with the name of a device, without opening it: the error is an *UnknownDevice.
func Check(name string) error {
	known := Names()
	mu.Lock()
	defer mu.Unlock()
	_, _, err := find(deviceName(name), known)
	return err
}

// find gives the backend that a name is of, and which of its devices; the error is an *UnknownDevice.
func find(name string, known []string) (b Backend, number int, err error) {
	if strings.Contains(name, "+") {
		return b, 0, &UnknownDevice{Name: name, Reason: "tensors come to lie on several devices by Shard"}
	}
	kind, number, err := ordinal(name)
	if err != nil {
		return b, 0, err
	}
	b, ok := backends[kind]
	if !ok {
		return b, 0, &UnknownDevice{Name: name, Known: known}
	}
	if number > 0 && !b.Several {
		return b, 0, &UnknownDevice{Name: name, Reason: fmt.Sprintf("there is one %s in this program", kind)}
	}
	return b, number, nil
}

// Advice, if set, says of a name that no backend has what may be meant and what a program imports to have it. Package
// backends, which knows what there is to import, sets it.
var Advice func(name string, known []string) []string

func (e *UnknownDevice) Error() string {
	if e.Reason != "" {
		return fmt.Sprintf("unknown device %q: %s", e.Name, e.Reason)
	}
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
