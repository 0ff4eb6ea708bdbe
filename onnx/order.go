package onnx

import "slices"

// inOrder are the nodes so that each comes after those that give what it or a graph in it reads. The format asks for that, but files of some converters
// have the casts that they add at the end. Nodes that read each other in a circle, and what is in order already, stay as they are.
func inOrder(list []*nodeProto) []*nodeProto {
	giver := make(map[string]int, len(list))
	for i, n := range list {
		for _, out := range n.out {
			giver[out] = i
		}
	}
	delete(giver, "")
	reads := func(i int) (from []int) { // nodes
		list[i].reads(func(name string) {
			if j, ok := giver[name]; ok {
				from = append(from, j)
			}
		})
		return from
	}
	ordered := true
	for i := 0; ordered && i < len(list); i++ {
		ordered = !slices.ContainsFunc(reads(i), func(j int) bool { return j >= i })
	}
	if ordered {
		return list
	}
	const begun, placed = 1, 2
	state, sorted := make([]byte, len(list)), make([]*nodeProto, 0, len(list))
	for i := range list {
		for path := []int{i}; len(path) > 0; { // without recursion, as the file says how long it gets
			k := path[len(path)-1]
			if state[k] != 0 {
				if path = path[:len(path)-1]; state[k] == begun {
					state[k], sorted = placed, append(sorted, list[k])
				}
				continue
			}
			state[k] = begun
			for _, j := range slices.Backward(reads(k)) {
				if state[j] == begun {
					return list
				}
				if state[j] == 0 {
					path = append(path, j)
				}
			}
		}
	}
	return sorted
}

// reads calls f with each name that the node or a graph in it reads.
func (n *nodeProto) reads(f func(name string)) {
	for _, in := range n.in {
		f(in)
	}
	for _, a := range n.attrs {
		for _, g := range append(slices.Clone(a.graphs), a.g) {
			if g == nil {
				continue
			}
			for _, inner := range g.nodes {
				inner.reads(f)
			}
			for _, out := range g.outputs {
				f(out.name)
			}
		}
	}
}
