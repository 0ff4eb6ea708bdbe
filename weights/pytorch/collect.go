package pytorch

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-ml/weft/weights"
)

const (
	maxDepth = 64
	maxName  = 4096 // bytes
	shared   = 16   // values that are visited for each byte of the pickle: one may lie at several places

	maxRepeated = 256 << 20 // bytes of all tensors that have more elements than their storages
	maxKey      = 100       // bytes of a name that a key gives which is no text
)

// collect names the tensors of a value by the keys that lead to them. The value came from a pickle of size bytes.
func (f *File) collect(v any, size int) error {
	f.meta = map[string]string{}
	c := collector{f: f, open: map[any]bool{}, left: 4096 + shared*size}
	if _, ok := v.(*tensorValue); ok {
		return c.value("tensor", v, 0)
	}
	if err := c.value("", v, 0); err != nil {
		return err
	}
	if len(f.names) == 0 {
		return f.fail("", fmt.Sprintf("holds %s without tensors", described(v)), nil)
	}
	return nil
}

type collector struct {
	f    *File
	open map[any]bool // lists and dicts that are being walked
	left int          // bytes of names, and values

	repeated int64 // bytes of tensors that repeat elements
}

func (c *collector) value(name string, v any, depth int) error {
	c.left -= 1 + len(name)
	switch {
	case depth > maxDepth:
		return c.f.fail(fmt.Sprintf("%.100q", name), fmt.Sprintf("lies deeper than %d lists and dicts", maxDepth), nil)
	case c.left < 0:
		return c.f.fail(fmt.Sprintf("%.100q", name), "the same values lie at so many places that their names are far longer than the file", nil)
	case len(name) > maxName:
		return c.f.fail(fmt.Sprintf("%.100q", name), fmt.Sprintf("a name of more than %d bytes", maxName), nil)
	}
	switch v := v.(type) {
	case *tensorValue:
		return c.tensor(name, v)
	case *dict:
		return c.inside(v, func() error {
			for i, k := range v.keys {
				if err := c.value(joined(name, keyText(k)), v.values[i], depth+1); err != nil {
					return err
				}
			}
			return nil
		})
	case *list:
		return c.inside(v, func() error { return c.items(name, v.items, depth) })
	case tuple:
		return c.items(name, v, depth)
	case bool, int64, float64, string:
		c.f.meta[name] = fmt.Sprint(v)
	}
	return nil
}

func (c *collector) items(name string, items []any, depth int) error {
	for i, item := range items {
		if err := c.value(joined(name, strconv.Itoa(i)), item, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// inside walks what holds values. What holds itself is walked once.
func (c *collector) inside(v any, walk func() error) error {
	if c.open[v] {
		return nil
	}
	c.open[v] = true
	defer delete(c.open, v)
	return walk()
}

func (c *collector) tensor(name string, t *tensorValue) error {
	f := c.f
	fail := func(cause string, err error) error { return f.fail(weights.Tensor(name), cause, err) }
	if _, twice := f.infos[name]; twice {
		f.unread[name] = "two tensors have this name"
		return nil
	}
	why := t.unread
	if why == "" && weights.Bits(t.dtype) == 0 {
		why = fmt.Sprintf("its elements are %s, which are not read", t.dtype)
	}
	if why != "" {
		if _, err := weights.Size("F64", t.shape); err != nil {
			return fail("bad tensor", err)
		}
		f.names, f.infos[name], f.unread[name] = append(f.names, name), weights.Info{DType: t.dtype, Shape: t.shape}, why
		return nil
	}
	n, err := weights.Size(t.dtype, t.shape)
	if err != nil {
		return fail("bad tensor", err)
	}
	s, ok := f.stores[t.storage.key]
	width := int64(weights.Bits(t.dtype) / 8)
	if !ok && n > 0 {
		return fail(fmt.Sprintf("its storage %.100q is not in the file", t.storage.key), nil)
	}
	own := int64(1) // bytes of what the storage counts
	if t.storage.dtype != "" {
		own = widthOf(t.storage.dtype)
	}
	if t.storage.count > s.size/own && n > 0 {
		return fail(fmt.Sprintf("its storage %.100q should have %d elements and has %d bytes", t.storage.key, t.storage.count, s.size), nil)
	}
	view := &weights.Strided{Store: s.data, Bytes: t.storage.count * own, Element: width, Offset: t.offset, Shape: t.shape, Strides: t.stride, Repeats: true}
	if n == 0 {
		view.Store = nil
	} else if err := view.Check(); err != nil {
		return fail("bad tensor", err)
	}
	f.names = append(f.names, name)
	f.infos[name] = weights.Info{DType: t.dtype, Shape: t.shape, Bytes: n}
	if n > view.Bytes {
		if n > maxRepeated-c.repeated {
			f.unread[name] = fmt.Sprintf("it repeats elements: %d bytes from a storage of %d, more than the %d that such tensors may have together; save a copy that is not expanded",
				n, view.Bytes, maxRepeated)
			f.infos[name] = weights.Info{DType: t.dtype, Shape: t.shape}
			return nil
		}
		c.repeated += n
	}
	f.views[name] = view
	return nil
}

func joined(name, key string) string {
	if name == "" {
		return key
	}
	return name + "." + key
}

// keyText is a key of a dict as part of a name: a text as it is, tuples as Python writes them, others by their kind.
func keyText(k any) string {
	switch k := k.(type) {
	case string:
		return k
	case nil, bool, int64, float64:
		return fmt.Sprint(k)
	}
	var b strings.Builder
	writeKey(&b, k)
	if s := b.String(); len(s) <= maxKey {
		return s
	}
	return strings.ToValidUTF8(b.String()[:maxKey], "") + "…"
}

// writeKey writes a key until it is too long.
func writeKey(b *strings.Builder, k any) {
	t, ok := k.(tuple)
	switch s, isText := k.(string); {
	case isText:
		b.WriteString(s[:min(len(s), maxKey+1)])
	case !ok && !isPlain(k):
		b.WriteString(described(k))
	case !ok:
		fmt.Fprint(b, k)
	}
	if !ok {
		return
	}
	b.WriteByte('(')
	for i, item := range t {
		if b.Len() > maxKey {
			return
		}
		if i > 0 {
			b.WriteString(", ")
		}
		writeKey(b, item)
	}
	b.WriteByte(')')
}

func isPlain(v any) bool {
	switch v.(type) {
	case nil, bool, int64, float64:
		return true
	}
	return false
}
