package schedule

import "github.com/weft-ml/weft/uop"

// keys numbers expressions, so that tuples of them can be keys of a map.
type keys struct{ ids map[*uop.UOp]uint32 }

func newKeys() *keys { return &keys{map[*uop.UOp]uint32{}} }

func (k *keys) id(u *uop.UOp) uint32 {
	if u == nil {
		return 0
	}
	n, ok := k.ids[u]
	if !ok {
		n = uint32(len(k.ids) + 1)
		k.ids[u] = n
	}
	return n
}

// tuple is a comparable form of a list of expressions; nil counts.
func (k *keys) tuple(list ...*uop.UOp) string {
	b := make([]byte, 0, 4*len(list))
	for _, u := range list {
		n := k.id(u)
		b = append(b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
	}
	return string(b)
}
