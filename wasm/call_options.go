package main

import (
	"fmt"

	"github.com/weft-ml/weft/wasm/wire"
)

// options takes an object; nothing is an empty one. The fields are taken from what it gives, each by its name.
func (c *call) options() options {
	v := c.next()
	if v == nil {
		return options{c: c}
	}
	r, ok := v.(wire.Record)
	if !ok {
		c.fail("argument %d is %s, not an object of options", c.taken, describe(v))
	}
	return options{c, r}
}

// options are named arguments.
type options struct {
	c *call
	r wire.Record
}

// at is a call whose next argument is the option of this name.
func (o options) at(name string) *call {
	return &call{server: o.c.server, name: o.c.name + " " + name, args: []any{o.r.Get(name)}}
}

// only refuses options that nobody asks for: a misspelt one should not be silent.
func (o options) only(names ...string) options {
	for _, f := range o.r {
		known := false
		for _, n := range names {
			known = known || n == f.Name
		}
		if !known {
			o.c.fail("there is no option %q; there are %v", f.Name, names)
		}
	}
	return o
}

// sizes takes an object of sizes of axes by their names; nothing is none.
func (c *call) sizes() map[string]int {
	v := c.next()
	r, ok := v.(wire.Record)
	if !ok && v != nil {
		c.fail("%s is %s, not an object of sizes by the names of axes", c.what(), describe(v))
	}
	out := make(map[string]int, len(r))
	for _, f := range r {
		out[f.Name] = options{c, r}.at(f.Name).integer()
	}
	return out
}

func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "missing"
	case float64:
		return fmt.Sprintf("the number %v", v)
	case bool:
		return fmt.Sprintf("%v", v)
	case string:
		return fmt.Sprintf("the string %q", v)
	case []any:
		return "a list"
	case wire.Record:
		return "an object"
	case wire.Array:
		return "a typed array"
	case wire.Ref:
		return "a tensor"
	}
	return fmt.Sprintf("a %T", v)
}
