package tensor

import "sync"

// scratch is host memory for what is computed there and copied to a device. It holds anything at first, and is used again: memory that
// the system has just given is several times as slow as what is done with it here.
type scratch struct {
	byteLists []*[]byte
	intLists  []*[]int32
	longLists []*[]uint64
}

var spareBytes, spareInts, spareLongs sync.Pool

func (s *scratch) bytes(n int) []byte   { return take(&spareBytes, &s.byteLists, n) }
func (s *scratch) ints(n int) []int32   { return take(&spareInts, &s.intLists, n) }
func (s *scratch) longs(n int) []uint64 { return take(&spareLongs, &s.longLists, n) }

// free has all of it be used again.
func (s *scratch) free() {
	give(&spareBytes, s.byteLists)
	give(&spareInts, s.intLists)
	give(&spareLongs, s.longLists)
}

// take gives a list of n elements of spare memory, or of new where there is none so large.
func take[T any](spare *sync.Pool, taken *[]*[]T, n int) []T {
	list, _ := spare.Get().(*[]T)
	if list == nil || cap(*list) < n {
		list = new([]T)
		*list = make([]T, n)
	}
	*taken = append(*taken, list)
	return (*list)[:n]
}

func give[T any](spare *sync.Pool, lists []*[]T) {
	for _, list := range lists {
		spare.Put(list)
	}
}
