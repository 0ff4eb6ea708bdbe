package tensor

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/uop"
)

// Realize computes tensors together, so that what they share is computed once. Afterwards each is a
// buffer and its history is dropped: gradients must have been asked for before. Constants come to lie
// on the device of the others, or on the default device.
func Realize(ctx context.Context, ts ...*Tensor) error {
	if err := missing("Realize", "tensor", ts); err != nil {
		return err
	}
	e, err := engineFor(ctx, ts)
	if err != nil {
		return err
	}
	for _, t := range ts {
		if err := Try(func() { t.place("Realize", e) }); err != nil {
			return err
		}
	}
	if err := compute(ctx, ts...); err != nil {
		return err
	}
	for _, t := range ts {
		t.settle()
		if u := t.node(); !t.owned.Load() && inMemory(u) {
			engine.Share(u)
		}
	}
	return nil
}

// settle has t go on from what it was realized as, unless it was changed since.
func (t *Tensor) settle() {
	u := t.graph.Load()
	r := realized(u)
	if r == nil {
		return
	}
	if t.owned.Load() {
		if assignment(u) != assignment(r) {
			engine.SetPast(r, nil)
		}
	} else {
		remember(u, r)
	}
	t.graph.CompareAndSwap(u, r)
}

// realized is the buffer that a node has become, with what is known of sizes that vary, or nil.
func realized(u *uop.UOp) *uop.UOp {
	r := u.Realized()
	if r == nil || u.Sizes() == nil {
		return r
	}
	w := limited(r, u.Sizes())
	w.SetRealized(r)
	return w
}

// compute realizes the nodes of tensors, and late assignments with them.
func compute(ctx context.Context, ts ...*Tensor) error { return computeLate(ctx, ts) }

// computeOwned realizes the nodes of tensors. Assigned tensors go on from their buffer.
func computeOwned(ctx context.Context, ts []*Tensor) error {
	if err := settled(ts, func() error { return computeNodes(ctx, ts) }); err != nil {
		return err
	}
	for _, t := range ts {
		if t.owned.Load() {
			t.settle()
		}
	}
	return nil
}

func computeNodes(ctx context.Context, ts []*Tensor) error {
	var order []*engine.Engine
	groups := map[*engine.Engine][]*uop.UOp{}
	for _, t := range ts {
		if _, ok := groups[t.Engine()]; !ok {
			order = append(order, t.Engine())
		}
		groups[t.Engine()] = append(groups[t.Engine()], t.node())
	}
	for _, e := range order {
		if err := realizeOn(ctx, e, groups[e]); err != nil {
			return err
		}
	}
	return nil
}

// keepHistory is how many values, read one after the other and each computed from the one before, keep
// their history. Reading a value does not end differentiation, but a loop that only ever reads must not
// remember all its past.
const keepHistory = 32

// read computes t like Realize but keeps its history, within bounds.
func (t *Tensor) read(ctx context.Context) error {
	if err := compute(ctx, t); err != nil {
		return err
	}
	u := t.node()
	r := realized(u)
	if r == nil || r == u || u.Storage() != nil {
		return nil
	}
	depth := 1
	seen := uop.NewSeen()
	defer seen.Free()
	stack := []*uop.UOp{u}
	for len(stack) > 0 {
		x := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, s := range x.Src() {
			if !seen.Enter(s) {
				continue
			}
			if s.Realized() == nil {
				stack = append(stack, s)
			} else if d, ok := s.Storage().(int); ok {
				depth = max(depth, d+1)
			}
		}
	}
	if depth > keepHistory {
		remember(u, r)
		t.graph.CompareAndSwap(u, r)
		return nil
	}
	u.SetStorage(depth)
	return nil
}

// settled calls f again where a captured function assigned one of the tensors meanwhile, so that f found it stale.
func settled(ts []*Tensor, f func() error) error {
	for {
		before := nodes(ts)
		err := f()
		if err == nil {
			return nil
		}
		var stale *engine.StaleError
		if !errors.As(err, &stale) || slices.Equal(before, nodes(ts)) {
			return err
		}
	}
}

// nodes are those of tensors, and nil of none.
func nodes(ts []*Tensor) []*uop.UOp {
	out := make([]*uop.UOp, len(ts))
	for i, t := range ts {
		if t != nil {
			out[i] = t.node()
		}
	}
	return out
}

func engineFor(ctx context.Context, ts []*Tensor) (*engine.Engine, error) {
	for _, t := range ts {
		if t.Engine() != nil {
			return t.Engine(), nil
		}
	}
	return engine.UseContext(ctx, "")
}

// Realize computes t.
func (t *Tensor) Realize(ctx context.Context) error { return Realize(ctx, t) }

// Bytes computes t and copies its elements (t stays differentiable): row-major, little-endian, a bool one byte.
func (t *Tensor) Bytes(ctx context.Context) ([]byte, error) {
	return t.bytesIn(ctx, func(n int) []byte { return make([]byte, n) })
}

// bytesIn is Bytes in memory that is asked for.
func (t *Tensor) bytesIn(ctx context.Context, memory func(n int) []byte) ([]byte, error) {
	noteRead()
	shape, ok := t.now()
	if !ok {
		return nil, t.unbound("Bytes")
	}
	t, err := t.inMemory(ctx)
	if err != nil {
		return nil, err
	}
	room, size := t.room(), t.DType().Size()
	raw := memory(room.Numel() * size)
	if err := settled([]*Tensor{t}, func() error { return t.Engine().Read(ctx, t.node(), raw) }); err != nil {
		return nil, err
	}
	return countedBytes(raw, room, shape, size), nil
}

// Borrow computes t (which stays differentiable) and calls f with the device that has it and the memory of its elements, as Bytes
// would give them. It is for devices that can hand elements on without a copy; f must not keep what it gets.
func (t *Tensor) Borrow(ctx context.Context, f func(runtime.Device, runtime.Mem) error) error {
	noteRead()
	if t.given().Sizes() != nil {
		return &ArgumentError{Op: "Borrow", Reason: fmt.Sprintf("a tensor of sizes %v has no memory of its elements alone; read them with Bytes", t.Sizes()), At: caller()}
	}
	t, err := t.inMemory(ctx)
	if err != nil {
		return err
	}
	return settled([]*Tensor{t}, func() error { return t.Engine().Borrow(ctx, t.node(), f) })
}

// Discard gives t's memory back now, not when the collector finds it unused. It is for results of Captured.Run that have
// memory of their own and that nothing else was made of: to use those later is an error.
func (t *Tensor) Discard() {
	if t.Engine() != nil {
		t.Engine().Discard(t.node())
	}
}

// inMemory computes t and gives it, or where t is a constant, which stays one, a tensor of its elements.
func (t *Tensor) inMemory(ctx context.Context) (*Tensor, error) {
	if t.constant() {
		c := newTensor(t.node(), t.Engine())
		if err := Realize(ctx, c); err != nil {
			return nil, err
		}
		t = c
	}
	return t, t.read(ctx)
}

// Data computes t and copies its elements, row-major. T must be the Go type of its elements;
// float32 also reads float16 and bfloat16, float64 reads every float, and int every integer.
func Data[T Element](ctx context.Context, t *Tensor) ([]T, error) {
	if t == nil {
		return nil, &ArgumentError{Op: "Data", Reason: "the tensor is nil", At: caller()}
	}
	d := t.DType()
	want := typeOf[T]()
	_, isInt := any(*new(T)).(int)
	switch {
	case want == d && !isInt, isInt && d.IsInt():
	case want == dtype.F32 && d.IsNarrow():
	case want == dtype.F64 && d.IsFloat():
	default:
		return nil, &TypeError{Op: "Data", Types: []dtype.DType{d}, Reason: fmt.Sprintf("cannot be read as %T; use To", *new(T)), At: caller()}
	}
	raw, err := t.Bytes(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]T, t.Numel())
	switch o := any(out).(type) {
	case []float32:
		if d == dtype.F32 {
			for i := range o {
				o[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
			}
			return out, nil
		}
	case []uint8:
		copy(o, raw)
		return out, nil
	}
	for i := range out {
		out[i] = fromValue[T](want, value(d, raw, i))
	}
	return out, nil
}

// value is the i-th element of raw.
func value(d dtype.DType, raw []byte, i int) uop.Value {
	var bits uint64
	for k := range d.Size() {
		bits |= uint64(raw[i*d.Size()+k]) << (8 * k)
	}
	return uop.FromBits(d, bits)
}

func fromValue[T Element](want dtype.DType, v uop.Value) T {
	var out T
	switch p := any(&out).(type) {
	case *bool:
		*p = v.Bool()
	case *int8:
		*p = int8(v.Int())
	case *uint8:
		*p = uint8(v.Int())
	case *int16:
		*p = int16(v.Int())
	case *uint16:
		*p = uint16(v.Int())
	case *int32:
		*p = int32(v.Int())
	case *uint32:
		*p = uint32(v.Int())
	case *int64:
		*p = v.Int()
	case *uint64:
		*p = uint64(v)
	case *int:
		*p = int(v.Int())
	case *float32:
		*p = float32(v.Float())
	case *float64:
		*p = v.Float()
	}
	return out
}

// Item computes t, which has one element, and gives it as a float64 (a bool as 0 or 1).
func (t *Tensor) Item(ctx context.Context) (float64, error) {
	v, err := t.one(ctx)
	if err != nil {
		return 0, err
	}
	return uop.Eval(uop.Cast, t.DType(), dtype.F64, v).Float(), nil
}

func (t *Tensor) one(ctx context.Context) (uop.Value, error) {
	shape, ok := t.now()
	if !ok {
		return 0, t.unbound("Item")
	}
	if shape.Numel() != 1 {
		return 0, &ShapeError{Op: "Item", Shapes: shapes(shape), Reason: fmt.Sprintf("%d elements, not one", shape.Numel()), At: caller()}
	}
	raw, err := t.Bytes(ctx)
	if err != nil {
		return 0, err
	}
	return value(t.DType(), raw, 0), nil
}

// ToList computes t and gives nested []any of Go values: bool, int64, uint64 (for uint64), float32
// and float64; without axes the value itself.
func (t *Tensor) ToList(ctx context.Context) (any, error) {
	raw, err := t.Bytes(ctx)
	if err != nil {
		return nil, err
	}
	d, at := t.DType(), 0
	var build func(shape uop.Shape) any
	build = func(shape uop.Shape) any {
		if len(shape) == 0 {
			at++
			return goValue(d, value(d, raw, at-1))
		}
		list := make([]any, shape[0])
		for i := range list {
			list[i] = build(shape[1:])
		}
		return list
	}
	return build(t.Shape()), nil
}

func goValue(d dtype.DType, v uop.Value) any {
	switch {
	case d == dtype.Bool:
		return v.Bool()
	case d == dtype.F64:
		return v.Float()
	case d.IsFloat():
		return float32(v.Float())
	case d == dtype.U64:
		return uint64(v)
	}
	return v.Int()
}

// To converts the elements: floats to integers truncate and saturate (NaN gives 0), integers wrap,
// to bool is "not zero".
func (t *Tensor) To(d dtype.DType) *Tensor {
	checkStored("To", d)
	return t.like(t.node().Cast(d))
}

// Bitcast reads the bits of the elements as another type. Of another size, the last axis grows or
// shrinks; little-endian.
func (t *Tensor) Bitcast(d dtype.DType) *Tensor {
	from, u := t.DType(), t.node()
	switch {
	case d.Size() == 0 || d == dtype.Bool || from == dtype.Bool:
		failType("Bitcast", []dtype.DType{from, d}, "bools and types without storage have no bits to read")
	case from.Size() == d.Size():
		return t.like(u.Bitcast(d))
	case t.Rank() == 0 || t.Dim(-1)*from.Size()%d.Size() != 0:
		fail("Bitcast", shapes(t.shape()), "the last axis of %v does not hold whole elements of %v", from, d)
	}
	s := t.Shape()
	last := len(s) - 1
	big, small := unsignedOf(from), unsignedOf(d)
	u = u.Bitcast(big)
	if from.Size() > d.Size() {
		k := from.Size() / d.Size()
		wide := uop.Shape(append(t.Shape(), k))
		u = spread(u.Reshape(append(t.Shape(), 1)...), wide)
		shift := iota(k, big).Mul(uop.NewInt(big, d.Bits()))
		s[last] = uop.Times(s[last], k)
		return t.like(u.Shr(alongAxis(shift, last+1, wide)).Cast(small).Reshape(s...).Bitcast(d))
	}
	k := d.Size() / from.Size()
	wide := uop.Shape(append(t.Shape(), k))
	wide[last] /= k
	shift := iota(k, small).Mul(uop.NewInt(small, from.Bits()))
	u = u.Reshape(wide...).Cast(small).Shl(alongAxis(shift, last+1, wide))
	return t.like(u.Reduce(uop.Sum, last+1).Bitcast(d))
}

// Contiguous asks for t to be computed and stored as a whole, not fused into what uses it.
func (t *Tensor) Contiguous() *Tensor { return t.like(t.node().Contiguous()) }

// Detach is t outside differentiation.
func (t *Tensor) Detach() *Tensor { return t.like(t.node().Detach()) }
