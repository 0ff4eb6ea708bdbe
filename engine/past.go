package engine

import (
	"slices"

	"github.com/weft-ml/weft/uop"
)

// Past is what a buffer was computed from, when its graph is not kept any more: the keys of nodes and of other buffers. It
// only tells what there was; gradients cannot go through it.
type Past struct {
	Self int   // the key of the node that became the buffer
	Keys []int // of what a gradient would have gone through, sorted
	More []int // as Keys, not sorted
	Cut  bool  // there was more: only buffers are all known
	Late bool  // of a state, whose assignments were carried out without anybody having asked for that
}

// Has reports whether a key is in the past.
func (p *Past) Has(key int) bool {
	_, ok := slices.BinarySearch(p.Keys, key)
	return ok || slices.Contains(p.More, key)
}

// SetPast notes the past of a buffer, perhaps reshaped, that is never assigned.
func SetPast(u *uop.UOp, p *Past) {
	if _, s := buffer(u); s != nil {
		s.past.Store(p)
	}
}

// PastOf is the past of a buffer, perhaps reshaped; nil where nothing is known, as of one that holds data or a state that is
// assigned.
func PastOf(u *uop.UOp) *Past {
	if _, s := buffer(u); s != nil {
		return s.past.Load()
	}
	return nil
}
