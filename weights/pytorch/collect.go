package pytorch

import (
	"fmt"
	"strconv"

	"github.com/weft-ml/weft/weights"
)

const (
	maxDepth = 64
	maxName  = 4096 // bytes
	shared   = 16   // values that are visited for each byte of the pickle: one may lie at several places
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
		return c.inside(name, v, func() error {
			for i, k := range v.keys {
				if err := c.value(joined(name, keyText(k)), v.values[i], depth+1); err != nil {
					return err
				}
			}
			return nil
		})
	case *list:
		return c.inside(name, v, func() error { return c.items(name, v.items, depth) })
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

// inside walks what holds values, which must not hold itself.
func (c *collector) inside(name string, v any, walk func() error) error {
	if c.open[v] {
		return c.f.fail(fmt.Sprintf("%.100q", name), "a list or dict lies in itself", nil)
	}
	c.open[v] = true
	defer delete(c.open, v)
	return walk()
}

func (c *collector) tensor(name string, t *tensorValue) error {
	f := c.f
	fail := func(cause string, err error) error { return f.fail(weights.Tensor(name), cause, err) }
	if _, twice := f.infos[name]; twice {
		return fail("two tensors have this name", nil)
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
		own = int64(weights.Bits(t.storage.dtype) / 8)
	}
	if t.storage.count > s.size/own && n > 0 {
		return fail(fmt.Sprintf("its storage %.100q should have %d elements and has %d bytes", t.storage.key, t.storage.count, s.size), nil)
	}
	view := &weights.Strided{Store: s.data, Bytes: t.storage.count * own, Element: width, Offset: t.offset, Shape: t.shape, Strides: t.stride}
	if n == 0 {
		view.Store = nil
	} else if err := view.Check(); err != nil {
		return fail("bad tensor", err)
	}
	f.names = append(f.names, name)
	f.infos[name] = weights.Info{DType: t.dtype, Shape: t.shape, Bytes: n}
	f.views[name] = view
	return nil
}

func joined(name, key string) string {
	if name == "" {
		return key
	}
	return name + "." + key
}

// keyText is a key of a dict as part of a name.
func keyText(k any) string {
	if s, ok := k.(string); ok {
		return s
	}
	return fmt.Sprint(k)
}
