package pytorch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// Values of the machine are nil, bool, int64, integer, float64, string, []byte, and these.
type (
	integer string // of more than 64 bits, as its little-endian bytes
	list    struct{ items []any }
	tuple   []any
	global  string // module.name
	mark    struct{}
	dict    struct {
		keys   []any
		values []any
		index  map[string]int // of text keys
	}
	storage struct {
		key   string
		dtype string // "": of bytes
		count int64
	}
	tensorValue struct {
		storage       *storage
		dtype         string
		offset        int64
		shape, stride []int64
		unread        string // why it cannot be read; "": it can
	}
	opaque string // what says nothing of tensors: its kind
)

// legacyMagic is the number that files of the old format begin with, 0x1950a86a20f9469cfc6c.
const legacyMagic = integer("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19")

// machine runs one pickle: https://docs.python.org/3/library/pickletools.html describes the opcodes. Texts are parts of the input, so that
// what it builds is bounded by the pickle's length.
type machine struct {
	in       []byte
	at, last int // next byte; the opcode that runs
	stack    []any
	memo     map[uint32]any
	legacy   bool
	widths   map[string]int64 // bytes of an element, by storage
	work     int              // items that calls were given: no more than the pickle has bytes
}

const maxStack = 1 << 24

// run runs to the opcode that ends a pickle, and gives its value.
func (m *machine) run() (any, error) {
	m.memo = map[uint32]any{}
	if m.widths == nil {
		m.widths = map[string]int64{}
	}
	for {
		m.last = m.at
		op, err := m.take(1)
		if err != nil {
			return nil, err
		}
		if op[0] == '.' {
			v, err := m.pop()
			if err == nil && len(m.stack) != 0 {
				err = fmt.Errorf("%d values are left over", len(m.stack))
			}
			return v, err
		}
		if err := m.step(op[0]); err != nil {
			return nil, err
		}
		if len(m.stack) > maxStack {
			return nil, fmt.Errorf("more than %d values at once", maxStack)
		}
	}
}

func (m *machine) take(n uint64) ([]byte, error) {
	if n > uint64(len(m.in)-m.at) {
		return nil, fmt.Errorf("truncated: %d bytes belong here, %d are left", n, len(m.in)-m.at)
	}
	out := m.in[m.at:][:n]
	m.at += int(n)
	return out, nil
}

// number reads an unsigned number of n bytes.
func (m *machine) number(n uint64) (uint64, error) {
	raw, err := m.take(n)
	if err != nil {
		return 0, err
	}
	var wide [8]byte
	copy(wide[:], raw)
	return binary.LittleEndian.Uint64(wide[:]), nil
}

// sized reads a length of n bytes and so many bytes.
func (m *machine) sized(n uint64) ([]byte, error) {
	size, err := m.number(n)
	if err != nil {
		return nil, err
	}
	return m.take(size)
}

func (m *machine) push(v any) error {
	m.stack = append(m.stack, v)
	return nil
}

func (m *machine) pop() (any, error) {
	if len(m.stack) == 0 {
		return nil, errors.New("a value is taken from an empty stack")
	}
	v := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	if _, ok := v.(mark); ok {
		return nil, errors.New("a mark where a value belongs")
	}
	return v, nil
}

// marked takes the values above the last mark, and the mark.
func (m *machine) marked() ([]any, error) {
	for i := len(m.stack) - 1; i >= 0; i-- {
		if _, ok := m.stack[i].(mark); ok {
			out := append([]any(nil), m.stack[i+1:]...)
			m.stack = m.stack[:i]
			return out, nil
		}
	}
	return nil, errors.New("no mark on the stack")
}

func (m *machine) step(op byte) error {
	switch op {
	case 0x80: // PROTO
		v, err := m.number(1)
		if err == nil && (v < 2 || v > 5) {
			err = fmt.Errorf("protocol %d; 2 to 5 are read", v)
		}
		return err
	case 0x95: // FRAME: a hint
		_, err := m.take(8)
		return err
	case 'N':
		return m.push(nil)
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		return m.push(op == 0x88)
	case 'J', 'K', 'M', 'G', 0x8a: // BININT, BININT1, BININT2, BINFLOAT, LONG1
		return m.numeric(op)
	case 'X', 0x8c, 0x8d, 'U', 'T', 'C', 'B', 0x8e, 0x96: // texts, bytes and bytearrays
		return m.text(op)
	case '}':
		return m.push(&dict{index: map[string]int{}})
	case ']', 0x8f: // EMPTY_LIST, EMPTY_SET
		return m.push(&list{})
	case 0x91: // FROZENSET
		items, err := m.marked()
		if err != nil {
			return err
		}
		return m.push(tuple(items))
	case ')':
		return m.push(tuple{})
	case '(':
		return m.push(mark{})
	case 't', 0x85, 0x86, 0x87: // TUPLE, TUPLE1 … TUPLE3
		return m.tuple(op)
	case 'q', 'r', 'h', 'j', 0x94: // BINPUT, LONG_BINPUT, BINGET, LONG_BINGET, MEMOIZE
		return m.memory(op)
	case 's', 'u', 'a', 'e', 'b', 0x90: // SETITEM, SETITEMS, APPEND, APPENDS, BUILD, ADDITEMS
		return m.fill(op)
	case 'c', 0x93, 'R', 0x81, 'Q': // GLOBAL, STACK_GLOBAL, REDUCE, NEWOBJ, BINPERSID
		return m.object(op)
	case '0': // POP
		_, err := m.pop()
		return err
	}
	return fmt.Errorf("opcode %#02x (%q), which tensors do not need and which is not run", op, rune(op))
}

func (m *machine) numeric(op byte) error {
	switch op {
	case 'G':
		raw, err := m.take(8)
		if err != nil {
			return err
		}
		return m.push(math.Float64frombits(binary.BigEndian.Uint64(raw)))
	case 0x8a:
		raw, err := m.sized(1)
		if err != nil {
			return err
		}
		if len(raw) > 8 {
			return m.push(integer(raw))
		}
		var wide [8]byte
		if len(raw) > 0 && raw[len(raw)-1]&0x80 != 0 {
			wide = [8]byte{255, 255, 255, 255, 255, 255, 255, 255}
		}
		copy(wide[:], raw)
		return m.push(int64(binary.LittleEndian.Uint64(wide[:])))
	}
	size := map[byte]uint64{'J': 4, 'K': 1, 'M': 2}[op]
	n, err := m.number(size)
	if err != nil {
		return err
	}
	if op == 'J' {
		return m.push(int64(int32(n)))
	}
	return m.push(int64(n))
}

func (m *machine) text(op byte) error {
	size := map[byte]uint64{'X': 4, 0x8c: 1, 0x8d: 8, 'U': 1, 'T': 4, 'C': 1, 'B': 4, 0x8e: 8, 0x96: 8}[op]
	raw, err := m.sized(size)
	if err != nil {
		return err
	}
	if op == 'C' || op == 'B' || op == 0x8e || op == 0x96 {
		return m.push(raw)
	}
	if !utf8.Valid(raw) {
		return fmt.Errorf("a text of %d bytes is not valid UTF-8", len(raw))
	}
	return m.push(string(raw))
}

func (m *machine) tuple(op byte) error {
	if op == 't' {
		items, err := m.marked()
		if err != nil {
			return err
		}
		return m.push(tuple(items))
	}
	items := make(tuple, op-0x84)
	for i := len(items) - 1; i >= 0; i-- {
		v, err := m.pop()
		if err != nil {
			return err
		}
		items[i] = v
	}
	return m.push(items)
}

func (m *machine) memory(op byte) error {
	if op == 0x94 || op == 'q' || op == 'r' {
		if len(m.stack) == 0 {
			return errors.New("nothing to remember")
		}
		v := m.stack[len(m.stack)-1]
		if _, ok := v.(mark); ok {
			return errors.New("a mark cannot be remembered")
		}
		n := uint64(len(m.memo))
		if op != 0x94 {
			var err error
			if n, err = m.number(map[byte]uint64{'q': 1, 'r': 4}[op]); err != nil {
				return err
			}
		}
		m.memo[uint32(n)] = v
		return nil
	}
	n, err := m.number(map[byte]uint64{'h': 1, 'j': 4}[op])
	if err != nil {
		return err
	}
	v, ok := m.memo[uint32(n)]
	if !ok {
		return fmt.Errorf("value %d was not remembered", n)
	}
	return m.push(v)
}

// fill puts items into a list or dict.
func (m *machine) fill(op byte) error {
	var items []any
	var err error
	switch op {
	case 'u', 'e', 0x90:
		items, err = m.marked()
	case 's':
		items = make([]any, 2)
		if items[1], err = m.pop(); err == nil {
			items[0], err = m.pop()
		}
	default:
		items = make([]any, 1)
		items[0], err = m.pop()
	}
	if err != nil {
		return err
	}
	into, err := m.pop()
	if err != nil {
		return err
	}
	m.push(into)
	switch op {
	case 'b':
		return built(into)
	case 'a', 'e', 0x90:
		l, ok := into.(*list)
		if !ok {
			return fmt.Errorf("items are appended to %s", described(into))
		}
		l.items = append(l.items, items...)
		return nil
	}
	d, ok := into.(*dict)
	if !ok {
		return fmt.Errorf("items are set in %s", described(into))
	}
	if len(items)%2 != 0 {
		return errors.New("a key without a value")
	}
	for i := 0; i < len(items); i += 2 {
		if err := d.set(items[i], items[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// built is what sets attributes of objects. Dicts have some (_metadata of a state_dict), which tensors do not need.
func built(into any) error {
	switch into.(type) {
	case *dict, *tensorValue, opaque:
		return nil
	}
	return fmt.Errorf("attributes are set of %s", described(into))
}

func (d *dict) set(key, value any) error {
	switch k := key.(type) {
	case string:
		if i, ok := d.index[k]; ok {
			d.values[i] = value
			return nil
		}
		d.index[k] = len(d.keys)
	case int64, bool, nil, float64, integer, tuple, []byte, global, opaque, *tensorValue:
	default:
		return fmt.Errorf("%s as a key", described(key))
	}
	d.keys = append(d.keys, key)
	d.values = append(d.values, value)
	return nil
}

func (d *dict) get(key string) (any, bool) {
	i, ok := d.index[key]
	if !ok {
		return nil, false
	}
	return d.values[i], true
}

// described says what kind of value it is.
func described(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return "a bool"
	case int64, integer:
		return "an integer"
	case float64:
		return "a float"
	case string:
		return "a text"
	case []byte:
		return "bytes"
	case *list:
		return "a list"
	case tuple:
		return "a tuple"
	case *dict:
		return "a dict"
	case global:
		return fmt.Sprintf("the class or function %.100s", string(v))
	case *storage:
		return "a storage"
	case *tensorValue:
		return "a tensor"
	case opaque:
		return string(v)
	}
	return "something else"
}
