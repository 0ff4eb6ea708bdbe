package uop

// Origin is where a program made a node: which method it called, within which layer, on which line.
type Origin struct {
	Method string // "Softmax"; of a node that a gradient is computed by: "gradient of Softmax"
	Layer  string // "nn.Linear", the outermost first; "": none
	At     string // file and line, "train.go:31"; "": not known
}

// String is the method, its layer and its line.
func (o *Origin) String() string {
	s := o.Method
	if o.Layer != "" {
		s = o.Layer + " " + s
	}
	if o.At != "" {
		s += " (" + o.At + ")"
	}
	return s
}

// Origin is where the node was made, nil if nobody said so. Equal nodes are one node, so it is where the first of them was made.
func (u *UOp) Origin() *Origin { return u.origin.Load() }

// Mark says where u was made, and all that it is made of which nobody knows yet: what a node with an origin is made of is known.
func (u *UOp) Mark(o *Origin) {
	todo := []*UOp{u}
	for len(todo) > 0 {
		v := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if v.origin.CompareAndSwap(nil, o) {
			todo = append(todo, v.src...)
		}
	}
}

// Gradient is the origin of what a gradient of a node with this one is computed by.
func (o *Origin) Gradient() *Origin {
	return &Origin{Method: "gradient of " + o.Method, Layer: o.Layer, At: o.At}
}
