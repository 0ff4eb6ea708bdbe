package fuzz

import (
	"fmt"
	"strings"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// A device may be several: "2 INTERP" are INTERP:0 and INTERP:1. Leaves of programs lie on all of them then, cut along an axis or whole,
// as their shapes and values say. What cannot be computed on arrays so cut is refused in words, and the program is skipped.

// several are the devices that leaves are sharded over; none: there is one.
var several []string

// counted takes the number of devices from a name.
func counted(device string) (n int, each string) {
	for n = 2; n <= 3; n++ {
		if each, ok := strings.CutPrefix(device, fmt.Sprint(n, " ")); ok {
			return n, each
		}
	}
	return 1, device
}

// configure makes an engine the default one. What it is opened with the first time, it keeps.
func configure(o Options, name string) {
	n, each := counted(name)
	engine.Configure(o.engine(), each)
	several = nil
	if n == 1 {
		return
	}
	for i := range n {
		several = append(several, fmt.Sprintf("%s:%d", each, i))
	}
	e, err := engine.Over(background, several)
	if err != nil {
		panic(err)
	}
	engine.Configure(o.engine(), e.Name())
}

// sharded puts a leaf on the devices that there are.
func sharded(t T, l *Leaf) T {
	if several == nil {
		return t
	}
	pick, axis := l.pick()%(len(l.Shape)+1), tensor.Replicated
	for i := range l.Shape {
		if a := (i + pick) % len(l.Shape); axis < 0 && pick < len(l.Shape) && l.Shape[a]%len(several) == 0 {
			axis = a
		}
	}
	t = t.Shard(several, axis).Own()
	if err := tensor.Realize(background, t); err != nil { // programs assign to leaves inside captured functions
		panic(err)
	}
	return t
}

// pick is a number that follows from a leaf.
func (l *Leaf) pick() int {
	n := 1
	for _, v := range l.values(0) {
		n = (n*31 + int(uint32(v)) + int(uint32(v>>32))) & 0xffff
	}
	return n
}
