package grammar

import (
	gobytes "bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

const (
	maxSchema = 1 << 16 // bytes
	maxNested = 40      // schemas within each other
	maxCount  = 1 << 12 // of minItems, maxLength and the like
	maxEnum   = 400     // values of enum
	maxAny    = 64      // schemas of anyOf
)

// Schema are the values that a JSON Schema (2020-12) allows: of its keywords type, properties, required, additionalProperties, items,
// prefixItems, minItems, maxItems, minLength, maxLength, minimum: 0, enum, const, anyOf, $ref within the schema, $defs and definitions.
// Objects have their properties in the order in which the schema has them, and none beside them. Keywords that explain (title, description,
// default, format …) are passed over; others are errors.
func Schema(raw []byte) (*Grammar, error) {
	if len(raw) > maxSchema {
		return nil, fmt.Errorf("grammar: a schema of %d bytes; at most %d are read", len(raw), maxSchema)
	}
	d := json.NewDecoder(gobytes.NewReader(raw))
	d.UseNumber()
	v, err := ordered(d, 0)
	if err == nil && d.More() {
		err = fmt.Errorf("there is more than one value")
	}
	if err != nil {
		return nil, fmt.Errorf("grammar: the schema: %w", err)
	}
	c := &compiler{builder: builder{common: map[string]int{}}, root: v, refs: map[string]int{}}
	return c.grammar(c.schema(v, "#", 0))
}

// object is a JSON object in its order.
type object struct {
	keys []string
	of   map[string]any
}

// ordered reads a value. Names that occur twice and what is nested too deeply are errors.
func ordered(d *json.Decoder, deep int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	open, ok := t.(json.Delim)
	if !ok {
		return t, nil
	}
	if deep > 2*maxNested {
		return nil, fmt.Errorf("nested deeper than %d", 2*maxNested)
	}
	if open == '[' {
		list := []any{}
		for d.More() {
			v, err := ordered(d, deep+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.Token()
		return list, err
	}
	o := &object{of: map[string]any{}}
	for d.More() {
		k, err := d.Token()
		if err != nil {
			return nil, err
		}
		key, _ := k.(string)
		if _, twice := o.of[key]; twice {
			return nil, fmt.Errorf("the name %.100q occurs twice in an object", key)
		}
		v, err := ordered(d, deep+1)
		if err != nil {
			return nil, err
		}
		o.keys, o.of[key] = append(o.keys, key), v
	}
	_, err = d.Token()
	return o, err
}

type compiler struct {
	builder
	root any
	refs map[string]int
}

// explain are keywords that change nothing.
var explain = []string{"title", "description", "default", "examples", "example", "$schema", "$id", "$comment", "deprecated", "readOnly", "writeOnly", "format",
	"$defs", "definitions"}

// groups are the keywords that say something together.
var groups = [][]string{{"$ref"}, {"anyOf"}, {"enum", "type"}, {"const", "type"},
	{"type", "properties", "required", "additionalProperties", "items", "prefixItems", "minItems", "maxItems", "minLength", "maxLength", "minimum"}}

// schema makes a rule of a schema that stands at a place.
func (c *compiler) schema(v any, at string, deep int) int {
	if c.failure != nil {
		return 0
	}
	if deep > maxNested {
		c.fail("%s: schemas are nested deeper than %d", at, maxNested)
		return 0
	}
	o, ok := v.(*object)
	if v == true {
		return c.named("value")
	}
	if !ok {
		c.fail("%s is no schema that anything satisfies: an object is, or true", at)
		return 0
	}
	var says []string
	for _, k := range o.keys {
		if !slices.Contains(explain, k) {
			says = append(says, k)
		}
	}
	if len(says) == 0 {
		return c.named("value")
	}
	for i, group := range groups {
		if i < len(groups)-1 && o.of[group[0]] == nil && !slices.Contains(o.keys, group[0]) {
			continue
		}
		for _, k := range says {
			if !slices.Contains(group, k) {
				c.fail("%s: the keyword %.40q is not known here, beside %s", at, k, strings.Join(group, ", "))
				return 0
			}
		}
		switch group[0] {
		case "$ref":
			return c.ref(o.of["$ref"], at, deep)
		case "anyOf":
			return c.anyOf(o.of["anyOf"], at+"/anyOf", deep)
		case "enum":
			list, ok := o.of["enum"].([]any)
			if !ok || len(list) == 0 || len(list) > maxEnum {
				c.fail("%s/enum is no list of values, of which there are 1 to %d", at, maxEnum)
				return 0
			}
			return c.literals(list, o, at)
		case "const":
			return c.literals([]any{o.of["const"]}, o, at)
		}
	}
	return c.typed(o, at, deep)
}

// literals are values that are written as they are.
func (c *compiler) literals(list []any, o *object, at string) int {
	types := c.types(o, at)
	var all []sequence
	for _, v := range list {
		if types != nil && !slices.ContainsFunc(types, func(t string) bool { return is(v, t) }) {
			continue
		}
		var w strings.Builder
		write(&w, v)
		all = append(all, text(w.String()))
	}
	if len(all) == 0 {
		c.fail("%s: none of its values has the type", at)
	}
	return c.rule(all...)
}

// is says whether a value has a type.
func is(v any, t string) bool {
	switch v := v.(type) {
	case nil:
		return t == "null"
	case bool:
		return t == "boolean"
	case string:
		return t == "string"
	case json.Number:
		return t == "number" || t == "integer" && !strings.ContainsAny(v.String(), ".eE")
	case []any:
		return t == "array"
	}
	return t == "object"
}

// write writes a value without space.
func write(w *strings.Builder, v any) {
	switch v := v.(type) {
	case []any:
		for i, x := range v {
			w.WriteString([]string{"[", ","}[min(i, 1)])
			write(w, x)
		}
		if len(v) == 0 {
			w.WriteString("[")
		}
		w.WriteString("]")
	case *object:
		w.WriteString("{")
		for i, k := range v.keys {
			if i > 0 {
				w.WriteString(",")
			}
			write(w, k)
			w.WriteString(":")
			write(w, v.of[k])
		}
		w.WriteString("}")
	case json.Number:
		w.WriteString(v.String())
	default:
		w.WriteString(quoted(v))
	}
}

// quoted is a text, a truth value or null as JSON, with no more escapes than are needed.
func quoted(v any) string {
	var out gobytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // such values always encode
	return strings.TrimSuffix(out.String(), "\n")
}

func (c *compiler) anyOf(v any, at string, deep int) int {
	list, ok := v.([]any)
	if !ok || len(list) == 0 || len(list) > maxAny {
		c.fail("%s is no list of schemas, of which there are 1 to %d", at, maxAny)
		return 0
	}
	var all []sequence
	for i, s := range list {
		all = append(all, seq(c.schema(s, fmt.Sprintf("%s/%d", at, i), deep+1)))
	}
	return c.rule(all...)
}

// ref is the schema at a place of the whole one. One that stands within itself is a rule that refers to itself.
func (c *compiler) ref(v any, at string, deep int) int {
	path, ok := v.(string)
	if r, have := c.refs[path]; ok && have {
		return r
	}
	to, found := c.root, ok && strings.HasPrefix(path, "#")
	for _, name := range strings.Split(strings.TrimPrefix(path, "#"), "/")[1:] {
		o, _ := to.(*object)
		if o == nil {
			found = false
			break
		}
		to, ok = o.of[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
		found = found && ok
	}
	if !found || path != "#" && !strings.HasPrefix(path, "#/") {
		c.fail("%s: $ref %.100q is no place of this schema", at, path)
		return 0
	}
	r := c.reserve()
	c.refs[path] = r
	inner := c.schema(to, path, deep+1)
	if inner == r { // refs that go round in a circle
		c.fail("%s: $ref %.100q refers to nothing but itself", at, path)
		return 0
	}
	c.define(r, seq(inner))
	return r
}

// types are the names that type has, or nil.
func (c *compiler) types(o *object, at string) (out []string) {
	v, ok := o.of["type"]
	if !ok {
		return nil
	}
	list, several := v.([]any)
	if !several {
		list = []any{v}
	}
	for _, t := range list {
		name, _ := t.(string)
		if !slices.Contains([]string{"object", "array", "string", "number", "integer", "boolean", "null"}, name) {
			c.fail("%s/type is %.40q", at, fmt.Sprint(t))
			return nil
		}
		out = append(out, name)
	}
	if len(out) == 0 {
		c.fail("%s/type is an empty list", at)
	}
	return out
}

// typed makes a rule of what a schema says of types. Without type, what it says shows which it means.
func (c *compiler) typed(o *object, at string, deep int) int {
	types := c.types(o, at)
	if types == nil {
		for name, keys := range map[string][]string{"object": {"properties", "required", "additionalProperties"}, "array": {"items", "prefixItems", "minItems", "maxItems"},
			"string": {"minLength", "maxLength"}, "number": {"minimum"}} {
			if slices.ContainsFunc(keys, func(k string) bool { _, ok := o.of[k]; return ok }) {
				types = append(types, name)
			}
		}
		slices.Sort(types)
	}
	fromZero := false
	if v, ok := o.of["minimum"]; ok {
		if n, _ := v.(json.Number); n.String() != "0" {
			c.fail("%s/minimum is %.40q; 0 is known", at, fmt.Sprint(v))
		}
		fromZero = true
	}
	var all []sequence
	for _, t := range types {
		switch {
		case t == "object":
			all = append(all, c.object(o, at, deep))
		case t == "array":
			all = append(all, c.array(o, at, deep))
		case t == "string":
			least, most := c.counts(o, "minLength", "maxLength", at)
			all = append(all, seq(`"`, c.times(seq(c.named("char")), seq(c.named("char")), least, most), `"`))
		case fromZero && t == "integer":
			all = append(all, seq(c.named("natural")))
		case fromZero && t == "number":
			all = append(all, seq(c.named("positive")))
		default:
			all = append(all, seq(c.named(t)))
		}
	}
	return c.rule(all...)
}

// counts reads how many there may be; most is −1 without end.
func (c *compiler) counts(o *object, low, high, at string) (least, most int) {
	most = -1
	for key, to := range map[string]*int{low: &least, high: &most} {
		v, ok := o.of[key]
		if !ok {
			continue
		}
		number, _ := v.(json.Number)
		n, err := number.Int64()
		if err != nil || n < 0 || n > maxCount {
			c.fail("%s/%s is %.40q; it is from 0 to %d", at, key, fmt.Sprint(v), maxCount)
			return 0, 0
		}
		*to = int(n)
	}
	if most >= 0 && least > most {
		c.fail("%s: %s is more than %s", at, low, high)
	}
	return least, most
}

func (c *compiler) array(o *object, at string, deep int) sequence {
	least, most := c.counts(o, "minItems", "maxItems", at)
	var first []int
	if v, ok := o.of["prefixItems"]; ok {
		list, ok := v.([]any)
		if !ok {
			c.fail("%s/prefixItems is no list of schemas", at)
		}
		for i, s := range list {
			first = append(first, c.schema(s, fmt.Sprintf("%s/prefixItems/%d", at, i), deep+1))
		}
	}
	rest := -1
	switch v, ok := o.of["items"]; {
	case ok && v == false:
		if most < 0 || most > len(first) {
			most = len(first)
		}
		if least > most {
			c.fail("%s: minItems is more than there may be", at)
		}
		if len(first) == 0 {
			return seq("[", c.named("space"), "]")
		}
	case ok:
		rest = c.schema(v, at+"/items", deep+1)
	default:
		rest = c.named("value")
	}
	if c.failure != nil {
		return nil
	}
	return c.arrayOf(first, rest, least, most)
}

// object has the properties in their order: each after a comma but the first that is there.
func (c *compiler) object(o *object, at string, deep int) sequence {
	props, ok := o.of["properties"].(*object)
	if _, have := o.of["properties"]; have && !ok {
		c.fail("%s/properties is no object of schemas", at)
		return nil
	}
	must := map[string]bool{}
	if v, have := o.of["required"]; have {
		list, ok := v.([]any)
		for _, n := range list {
			name, text := n.(string)
			if _, known := props.get(name); ok && text && !known {
				c.fail("%s/required has %.100q, of which properties say nothing", at, name)
			}
			must[name], ok = true, ok && text
		}
		if !ok {
			c.fail("%s/required is no list of names", at)
		}
	}
	sp := c.named("space")
	if props == nil || len(props.keys) == 0 {
		switch v, have := o.of["additionalProperties"]; {
		case have && v == false:
			return seq("{", sp, "}")
		case have:
			return c.mapOf(c.schema(v, at+"/additionalProperties", deep+1))
		}
		return c.mapOf(c.named("value"))
	}
	// some is one of the properties from i on and what follows it, or −1; later are a comma and some, where one was there before; missing says that none has
	// to follow. Only so a text goes on in about as many ways as there are properties.
	some, later, missing := -1, c.rule(nil), true
	for i := len(props.keys) - 1; i >= 0; i-- {
		name := props.keys[i]
		value := c.schema(props.of[name], at+"/properties/"+name, deep+1)
		if c.failure != nil {
			return nil
		}
		all := []sequence{seq(quoted(name), ":", sp, value, sp, later)}
		if must[name] {
			missing = false
		} else if some >= 0 {
			all = append(all, seq(some))
		}
		some = c.rule(all...)
		comma := []sequence{seq(",", sp, some)}
		if missing {
			comma = append(comma, nil)
		}
		later = c.rule(comma...)
	}
	if missing {
		some = c.rule(seq(some), nil)
	}
	return seq("{", sp, some, "}")
}

func (o *object) get(name string) (any, bool) {
	if o == nil {
		return nil, false
	}
	v, ok := o.of[name]
	return v, ok
}
