package pytorch

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/weft-ml/weft/weights"
)

// storages are the classes of typed storages, and what their elements are.
var storages = map[global]string{
	"torch.FloatStorage": "F32", "torch.DoubleStorage": "F64", "torch.HalfStorage": "F16", "torch.BFloat16Storage": "BF16",
	"torch.LongStorage": "I64", "torch.IntStorage": "I32", "torch.ShortStorage": "I16", "torch.CharStorage": "I8",
	"torch.ByteStorage": "U8", "torch.BoolStorage": "BOOL", "torch.ComplexFloatStorage": "C64",
	"torch.storage.UntypedStorage": "", "torch.UntypedStorage": "",
	"torch.ComplexDoubleStorage": "complex128", "torch.QInt8Storage": "qint8", "torch.QUInt8Storage": "quint8", "torch.QInt32Storage": "qint32",
	"torch.QUInt4x2Storage": "quint4x2", "torch.QUInt2x4Storage": "quint2x4",
}

// unreadTypes are types of which tensors are not read, and the bytes of an element.
var unreadTypes = map[string]int64{"complex128": 16, "complex32": 4, "qint8": 1, "quint8": 1, "qint32": 4, "quint4x2": 1, "quint2x4": 1,
	"float4_e2m1fn_x2": 1}

// widthOf are the bytes of an element of a type.
func widthOf(dtype string) int64 {
	if n, ok := unreadTypes[dtype]; ok {
		return n
	}
	return int64(weights.Bits(dtype) / 8)
}

// dtypes are the types that tensors of untyped storages name.
var dtypes = map[global]string{
	"torch.float32": "F32", "torch.float64": "F64", "torch.float16": "F16", "torch.bfloat16": "BF16", "torch.int64": "I64",
	"torch.int32": "I32", "torch.int16": "I16", "torch.int8": "I8", "torch.uint8": "U8", "torch.uint16": "U16", "torch.uint32": "U32",
	"torch.uint64": "U64", "torch.bool": "BOOL", "torch.float8_e4m3fn": "F8_E4M3", "torch.float8_e5m2": "F8_E5M2",
	"torch.float8_e4m3fnuz": "F8_E4M3FNUZ", "torch.float8_e5m2fnuz": "F8_E5M2FNUZ", "torch.float8_e8m0fnu": "F8_E8M0",
	"torch.complex64": "C64", "torch.complex128": "complex128", "torch.complex32": "complex32", "torch.qint8": "qint8", "torch.quint8": "quint8",
	"torch.qint32": "qint32", "torch.quint4x2": "quint4x2", "torch.quint2x4": "quint2x4", "torch.float4_e2m1fn_x2": "float4_e2m1fn_x2",
}

// named are things that are only named: ways to quantise, and singletons of Python.
var named = map[global]bool{
	"torch.per_tensor_affine": true, "torch.per_channel_affine": true, "torch.per_tensor_symmetric": true, "torch.per_channel_symmetric": true,
	"torch.per_channel_affine_float_qparams": true, "builtins.Ellipsis": true, "__builtin__.Ellipsis": true,
}

const (
	rebuildV2 global = "torch._utils._rebuild_tensor_v2"
	rebuildV3 global = "torch._utils._rebuild_tensor_v3"

	rebuilds = "torch._utils._rebuild_" // what the functions that build tensors begin with
)

// calls are the functions that may be called, and what they give.
var calls = map[global]func(args tuple) (any, error){
	"collections.OrderedDict":         pairs,
	rebuildV2:                         func(a tuple) (any, error) { return rebuild(a, 6, "") },
	rebuildV3:                         rebuildTyped,
	"torch._utils._rebuild_parameter": parameter,
	"torch._utils._rebuild_parameter_with_state":   parameter,
	"torch._utils._rebuild_meta_tensor_no_storage": meta,
	"torch._utils._rebuild_qtensor":                quantised,
	"torch._utils._rebuild_sparse_tensor":          sparse,
	"torch.Size":                                   size,
	"torch.device":                                 plain,
	"torch.serialization._get_layout":              plain,
	"torch.torch_version.TorchVersion":             plain,
	"torch._tensor._rebuild_from_type_v2":          fromType,
	"collections.Counter":                          pairs,
	"collections.defaultdict":                      func(tuple) (any, error) { return pairs(nil) },
	"_codecs.encode":                               func(tuple) (any, error) { return opaque("bytes"), nil },
}

func init() {
	for _, python := range []global{"builtins.", "__builtin__."} { // of Python 3 and of pickles that Python 2 can read
		for name, f := range map[global]func(args tuple) (any, error){
			"dict": pairs, "set": plain, "frozenset": plain, "complex": plain, "slice": plain, "range": plain, "xrange": plain,
			"bytes":     func(tuple) (any, error) { return opaque("bytes"), nil },
			"bytearray": func(tuple) (any, error) { return opaque("a bytearray"), nil },
		} {
			calls[python+name] = f
		}
	}
}

// callOf is a function that may be called, or nil. Those that build tensors of kinds that are not known give tensors that cannot be read.
func callOf(g global) func(args tuple) (any, error) {
	if f := calls[g]; f != nil || !strings.HasPrefix(string(g), rebuilds) {
		return f
	}
	return func(tuple) (any, error) {
		return unreadable("other", nil, fmt.Sprintf("it is built by %.100s, which is not supported", string(g)))
	}
}

func (m *machine) object(op byte) error {
	switch op {
	case 'c', 0x93:
		return m.global(op)
	case 'Q':
		v, err := m.pop()
		if err != nil {
			return err
		}
		s, err := m.storage(v)
		if err != nil {
			return err
		}
		return m.push(s)
	}
	v, err := m.pop()
	if err != nil {
		return err
	}
	f, err := m.pop()
	if err != nil {
		return err
	}
	args, ok := v.(tuple)
	g, isGlobal := f.(global)
	if !ok || !isGlobal {
		return fmt.Errorf("%s is called with %s", described(f), described(v))
	}
	call := callOf(g)
	if call == nil {
		return fmt.Errorf("the file calls %.100s, which tensors do not need; nothing is executed", string(g))
	}
	if m.work += items(args); m.work > len(m.in) {
		return fmt.Errorf("%s: it is called with the same items again and again: more of them than the pickle has bytes", g)
	}
	if v, err = call(args); err != nil {
		return fmt.Errorf("%s: %w", g, err)
	}
	return m.push(v)
}

// items counts what the arguments of a call hold, two levels deep: what calls read of them.
func items(args tuple) int {
	n := len(args)
	for _, a := range args {
		switch a := a.(type) {
		case tuple:
			n += len(a)
		case *list:
			n += len(a.items)
		case *dict:
			n += len(a.keys)
		}
	}
	return n
}

// global names a class or function, which has to be one of the lists.
func (m *machine) global(op byte) error {
	var module, name string
	if op == 'c' {
		for _, into := range []*string{&module, &name} {
			n := bytes.IndexByte(m.in[m.at:], '\n')
			if n < 0 || n > 1000 {
				return errors.New("a name does not end")
			}
			*into = string(m.in[m.at:][:n])
			m.at += n + 1
		}
	} else {
		b, err := m.pop()
		if err != nil {
			return err
		}
		a, err := m.pop()
		if err != nil {
			return err
		}
		var ok, too bool
		if module, ok = a.(string); !ok {
			return fmt.Errorf("%s as a module's name", described(a))
		}
		if name, too = b.(string); !too {
			return fmt.Errorf("%s as a name", described(b))
		}
	}
	g := global(module + "." + name)
	_, isStorage := storages[g]
	_, isType := dtypes[g]
	if callOf(g) == nil && !isStorage && !isType && !named[g] {
		hint := ""
		if strings.HasPrefix(module, "torch.nn.modules") || module == "__main__" {
			hint = " It holds a whole module, which is code; save its state_dict()."
		}
		return fmt.Errorf("the file asks for %.200q, which is not on the list of what tensors need; nothing is executed.%s", string(g), hint)
	}
	return m.push(g)
}

// storage is what a persistent name stands for: ("storage", class, key, place, count) and, in the old format, a view.
func (m *machine) storage(v any) (*storage, error) {
	args, ok := v.(tuple)
	want := 5
	if m.legacy {
		want = 6
	}
	if !ok || len(args) != want || args[0] != "storage" {
		return nil, errors.New("a persistent name that is not that of a storage")
	}
	class, ok := args[1].(global)
	dtype, known := storages[class]
	if !ok || !known {
		return nil, fmt.Errorf("%s as the class of a storage", described(args[1]))
	}
	key, ok := args[2].(string)
	count, ok2 := args[4].(int64)
	if !ok || !ok2 || count < 0 {
		return nil, errors.New("a storage without a key or a number of elements")
	}
	if m.legacy && args[5] != nil {
		return nil, errors.New("a storage that is a view of another, which is not read; load and save it with a newer PyTorch")
	}
	width := int64(1)
	if dtype != "" {
		width = widthOf(dtype)
	}
	if old, ok := m.widths[key]; ok && old != width {
		return nil, fmt.Errorf("storage %.100q has elements of %d and of %d bytes", key, old, width)
	}
	m.widths[key] = width
	return &storage{key, dtype, count}, nil
}

// pairs is a dict of a list of pairs or of another dict.
func pairs(args tuple) (any, error) {
	d := &dict{index: map[string]int{}}
	if len(args) == 0 {
		return d, nil
	}
	if from, ok := args[0].(*dict); ok && len(args) == 1 {
		for i, k := range from.keys {
			if err := d.set(k, from.values[i]); err != nil {
				return nil, err
			}
		}
		return d, nil
	}
	pairs, ok := args[0].(*list)
	if !ok || len(args) != 1 {
		return nil, errors.New("takes a list of pairs")
	}
	for _, p := range pairs.items {
		var key, value any
		switch p := p.(type) {
		case tuple:
			if len(p) != 2 {
				return nil, errors.New("takes a list of pairs")
			}
			key, value = p[0], p[1]
		case *list:
			if len(p.items) != 2 {
				return nil, errors.New("takes a list of pairs")
			}
			key, value = p.items[0], p.items[1]
		default:
			return nil, errors.New("takes a list of pairs")
		}
		if err := d.set(key, value); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// rebuild is (storage, offset, shape, strides, requires_grad, hooks, …).
func rebuild(args tuple, least int, dtype string) (any, error) {
	if len(args) < least {
		return nil, fmt.Errorf("%d arguments", len(args))
	}
	s, ok := args[0].(*storage)
	if !ok {
		return nil, fmt.Errorf("%s as a storage", described(args[0]))
	}
	t := &tensorValue{storage: s, dtype: dtype}
	if dtype == "" {
		t.dtype = s.dtype
	}
	if t.dtype == "" {
		return nil, errors.New("a tensor without a type")
	}
	if t.offset, ok = args[1].(int64); !ok {
		return nil, fmt.Errorf("%s as an offset", described(args[1]))
	}
	var err error
	if t.shape, err = ints(args[2]); err != nil {
		return nil, fmt.Errorf("shape: %w", err)
	}
	if t.stride, err = ints(args[3]); err != nil {
		return nil, fmt.Errorf("strides: %w", err)
	}
	if len(args) > least {
		t.unread, err = asStored(args[least])
	}
	return t, err
}

// asStored says why a tensor cannot be read that is not what its storage holds: views that negate or conjugate are saved as the storage that
// they are of, with a dict that says so (torch._utils.set_tensor_metadata).
func asStored(metadata any) (why string, err error) {
	if metadata == nil {
		return "", nil
	}
	d, ok := metadata.(*dict)
	if !ok {
		return "", fmt.Errorf("%s for what is done to a tensor that is read", described(metadata))
	}
	for key, does := range map[string]string{"neg": "negated", "conj": "conjugated"} {
		v, there := d.get(key)
		on, ok := v.(bool)
		switch {
		case there && !ok:
			return "", fmt.Errorf("%q is %s, not a bool", key, described(v))
		case on:
			why = fmt.Sprintf("it is %s when it is read, which is not supported; save a copy: t.resolve_%s()", does, key)
		}
	}
	return why, nil
}

// unreadable is a tensor of which no more is known than what kind it is.
func unreadable(kind string, shape any, why string) (*tensorValue, error) {
	t := &tensorValue{dtype: kind, unread: why}
	if shape == nil {
		return t, nil
	}
	var err error
	if t.shape, err = ints(shape); err != nil {
		return nil, fmt.Errorf("shape: %w", err)
	}
	return t, nil
}

// meta is (type, shape, strides, …).
func meta(args tuple) (any, error) {
	if len(args) < 2 {
		return nil, fmt.Errorf("%d arguments", len(args))
	}
	g, _ := args[0].(global)
	if dtypes[g] == "" {
		return nil, fmt.Errorf("%s as a type", described(args[0]))
	}
	return unreadable(dtypes[g], args[1], "it is a meta tensor: it has a shape and no elements")
}

// quantised is (storage, offset, shape, strides, how it is quantised, …).
func quantised(args tuple) (any, error) {
	if len(args) < 5 {
		return nil, fmt.Errorf("%d arguments", len(args))
	}
	s, ok := args[0].(*storage)
	if !ok {
		return nil, fmt.Errorf("%s as a storage", described(args[0]))
	}
	return unreadable(s.dtype, args[2], "it is quantised, which is not supported; save t.dequantize(), or t.int_repr() and its scale")
}

// sparse is (layout, (indices, values, shape, …)); in other layouts the shape stands elsewhere.
func sparse(args tuple) (any, error) {
	if len(args) < 2 {
		return nil, fmt.Errorf("%d arguments", len(args))
	}
	var shape any
	if parts, ok := args[1].(tuple); ok && len(parts) > 2 {
		if _, err := ints(parts[2]); err == nil {
			shape = parts[2]
		}
	}
	return unreadable("sparse", shape, "it is sparse, which is not supported; save t.to_dense()")
}

// rebuildTyped has the type behind the hooks.
func rebuildTyped(args tuple) (any, error) {
	if len(args) < 7 {
		return nil, fmt.Errorf("%d arguments", len(args))
	}
	g, ok := args[6].(global)
	dtype := dtypes[g]
	if !ok || dtype == "" {
		return nil, fmt.Errorf("%s as a type", described(args[6]))
	}
	return rebuild(args, 7, dtype)
}

func parameter(args tuple) (any, error) {
	if len(args) == 0 {
		return nil, errors.New("no arguments")
	}
	if _, ok := args[0].(*tensorValue); !ok {
		return nil, fmt.Errorf("of %s", described(args[0]))
	}
	return args[0], nil
}

// fromType calls a function for a tensor with attributes: (function, class, arguments, state).
func fromType(args tuple) (any, error) {
	if len(args) != 4 {
		return nil, fmt.Errorf("%d arguments", len(args))
	}
	g, ok := args[0].(global)
	inner, ok2 := args[2].(tuple)
	switch {
	case ok && ok2 && g == rebuildV2:
		return rebuild(inner, 6, "")
	case ok && ok2 && g == rebuildV3:
		return rebuildTyped(inner)
	case ok && strings.HasPrefix(string(g), rebuilds):
		return unreadable("other", nil, fmt.Sprintf("it is built by %.100s, which is not supported", string(g)))
	}
	return nil, fmt.Errorf("%s is called", described(args[0]))
}

func size(args tuple) (any, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("%d arguments", len(args))
	}
	if _, err := ints(args[0]); err != nil {
		return nil, err
	}
	return args[0], nil
}

// plain gives what it is called with: objects that say nothing of tensors.
func plain(args tuple) (any, error) { return args, nil }

// ints are a tuple or list of sizes.
func ints(v any) ([]int64, error) {
	items, ok := v.(tuple)
	if l, isList := v.(*list); isList {
		items, ok = l.items, true
	}
	if !ok || len(items) > weights.MaxRank {
		return nil, fmt.Errorf("%s of %d items", described(v), len(items))
	}
	out := make([]int64, len(items))
	for i, item := range items {
		n, ok := item.(int64)
		if !ok || n < 0 {
			return nil, fmt.Errorf("size %d is %s, not a number from 0 on", i, described(item))
		}
		out[i] = n
	}
	return out, nil
}
