package grammar

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// allows says whether a whole text is one of the grammar's.
func allows(g *Grammar, text string) bool {
	s, ok := g.Start().Next([]byte(text))
	return ok && s.Whole()
}

func TestSchema(t *testing.T) {
	for _, c := range []struct {
		schema  string
		yes, no []string
	}{
		{`{"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}}, "required": ["age"]}`,
			[]string{`{"name":"Ada","age":36}`, `{"age":0}`, "{\n  \"name\": \"a\\n\\u00e9ö\",\n  \"age\": 7\n}"},
			[]string{`{"name":"Ada"}`, `{"age":36,"name":"Ada"}`, `{"age":-1}`, `{"age":01}`, `{"age":1,}`, `{,"age":1}`, `{"age":1.5}`, `{"age":1} `, `{"more":1,"age":1}`}},
		{`{"enum": ["a", 1, null, {"x": [1, {}], "y": []}]}`, []string{`"a"`, `1`, `null`, `{"x":[1,{}],"y":[]}`}, []string{`"b"`, `2`, `{"x":[]}`}},
		{`{"type": "string", "enum": ["a", 1]}`, []string{`"a"`}, []string{`1`}},
		{`{"const": "<&>\u2028"}`, []string{`"<&>\u2028"`}, []string{`""`}},
		{`{"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 3}`, []string{`[true]`, `[true, false,true]`}, []string{`[]`, `[true,true,true,true]`, `[1]`}},
		{`{"type": "array", "minItems": 2, "items": {"type": "null"}}`, []string{`[null,null]`, `[null,null,null]`}, []string{`[null]`, `[]`}},
		{`{"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": false, "minItems": 1}`, []string{`[1]`, `[1,"a"]`}, []string{`[]`, `["a"]`, `[1,"a",1]`}},
		{`{"prefixItems": [{"type": "integer"}], "items": {"type": "string"}, "maxItems": 2}`, []string{`[]`, `[1]`, `[1,"a"]`}, []string{`[1,"a","b"]`, `["a"]`}},
		{`{"items": false}`, []string{`[]`}, []string{`[1]`}},
		{`{"type": "string", "minLength": 2, "maxLength": 3}`, []string{`"ab"`, `"äöü"`, `"\"\\a"`}, []string{`"a"`, `"abcd"`, `"ö"`, "\"a\n\""}},
		{`{"type": ["integer", "null"]}`, []string{`-12`, `null`, `0`}, []string{`1.0`, `""`, `-`, `1000000000000000000`}},
		{`{"type": "number"}`, []string{`-1.5e10`, `0.25`, `3`, `1E-2`}, []string{`1.`, `.5`, `1e400`, `NaN`, `+1`}},
		{`{"anyOf": [{"type": "integer"}, {"type": "array", "items": {"$ref": "#"}}]}`, []string{`1`, `[1,[2,[]]]`}, []string{`"a"`, `[null]`}},
		{`{"$ref": "#/$defs/a~1b", "$defs": {"a/b": {"type": "object", "properties": {"next": {"$ref": "#/$defs/a~1b"}}}}}`,
			[]string{`{}`, `{"next":{"next":{}}}`}, []string{`{"next":1}`}},
		{`{"type": "object", "additionalProperties": {"type": "integer"}}`, []string{`{}`, `{"a":1,"b":2}`}, []string{`{"a":"b"}`}},
		{`{"type": "object", "additionalProperties": false}`, []string{`{}`}, []string{`{"a":1}`}},
		{`{"title": "anything"}`, []string{`{"a":[1,"b",null,true,{}]}`, `"x"`}, []string{`{a:1}`, ``}},
		{`true`, []string{`1`}, []string{`x`}},
	} {
		g, err := Schema([]byte(c.schema))
		require.NoError(t, err, c.schema)
		for _, text := range c.yes {
			assert.True(t, json.Valid([]byte(text)))
			assert.True(t, allows(g, text), "%s: %s", c.schema, text)
		}
		for _, text := range c.no {
			assert.False(t, allows(g, text), "%s: %s", c.schema, text)
		}
	}
	for text, want := range map[string]bool{`{"a":[1,2,{"b":null}],"c":"\ud83d"}`: false, `{"a":[1,2,{"b":null}],"c":"😀"}`: true, `[]`: false, "{\"a\":\"\xff\"}": false, "{}": true} {
		assert.Equal(t, want, allows(JSON(), text), text)
	}
}

// What is not held to, and schemas that are made to harm, are errors that say where.
func TestSchemaRefuses(t *testing.T) {
	deep := strings.Repeat(`{"items":`, 60) + `true` + strings.Repeat(`}`, 60)
	wide := `{"type":"array","minItems":4000,"items":{"type":"array","minItems":4000,"items":` + `{"type":"array","minItems":4000,"maxItems":4096}` + `}}`
	long := `{"prefixItems":[` + strings.Repeat(`{"type":"string","maxLength":4096},`, 40) + `true]}`
	for schema, want := range map[string]string{
		`{"type": "string", "pattern": "a+"}`:  `#: the keyword "pattern" is not known here`,
		`{"properties": {"a": {"oneOf": []}}}`: `#/properties/a: the keyword "oneOf" is not known here`,
		`{"anyOf": [true], "type": "string"}`:  `the keyword "type" is not known here, beside anyOf`,
		`{"type": "strnig"}`:                   `#/type is "strnig"`,
		`{"type": []}`:                         `#/type is an empty list`,
		`{"required": ["a"]}`:                  `#/required has "a", of which properties say nothing`,
		`{"$ref": "http://example.org"}`:       `is no place of this schema`,
		`{"$ref": "#/$defs/none"}`:             `is no place of this schema`,
		`{"$ref": "#"}`:                        `refers to nothing but itself`,
		`{"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}}`: `no text can end`,
		`{"anyOf": [{"$ref": "#"}]}`:                              `no text can end`,
		`{"properties": {"a": {"$ref": "#"}}, "required": ["a"]}`: `no text can end`,
		`{"enum": []}`:                   `#/enum is no list of values`,
		`{"type": "null", "const": 1}`:   `none of its values has the type`,
		`{"minLength": -1}`:              `#/minLength is "-1"; it is from 0 to 4096`,
		`{"maxItems": 1e9}`:              `#/maxItems is "1e9"`,
		`{"minItems": 3, "maxItems": 2}`: `minItems is more than maxItems`,
		`{"minimum": 5}`:                 `#/minimum is "5"; 0 is known`,
		`{"a": 1, "a": 2}`:               `the name "a" occurs twice`,
		`false`:                          `# is no schema that anything satisfies`,
		`{"items": 7}`:                   `#/items is no schema`,
		`{}{}`:                           `more than one value`,
		`{`:                              `EOF`,
		deep:                             `nested deeper than`,
		wide:                             ``,
		long:                             `takes more than 65536 elements`,
		strings.Repeat(" ", 1<<16+1):     `at most 65536 are read`,
		`{"enum": [` + strings.Repeat(`1,`, 400) + `1]}`:       `of which there are 1 to 400`,
		`{"anyOf": [` + strings.Repeat(`true,`, 64) + `true]}`: `of which there are 1 to 64`,
		strings.Repeat("[", 60000):                             `nested deeper than 80`,
	} {
		_, err := Schema([]byte(schema))
		if want == "" {
			require.NoError(t, err, "%.100s", schema)
			continue
		}
		require.ErrorContains(t, err, want, "%.100s", schema)
	}
}

// random walks a grammar: bytes that are allowed, closing brackets rather than others when a text grows long.
func random(r *rand.Rand, g *Grammar) (string, bool) { return walk(r, g, 3000) }

func walk(r *rand.Rand, g *Grammar, most int) (string, bool) {
	s := g.Start()
	var out []byte
	for len(out) < most {
		if s.Ended() || s.Whole() && (r.IntN(3) == 0 || len(out) > 60) {
			return string(out), true
		}
		first := s.First()
		var may []byte
		for b, ok := range first {
			if ok {
				may = append(may, byte(b))
			}
		}
		if len(may) == 0 {
			return string(out), false
		}
		b := may[r.IntN(len(may))]
		if len(out) > 60 {
			for _, c := range []byte(`}]",:`) {
				if first[c] {
					b = c
					break
				}
			}
		}
		next, ok := s.Next([]byte{b})
		if !ok {
			return string(out), false
		}
		s, out = next, append(out, b)
	}
	return string(out), false
}

// randomSchema makes a schema, and says whether a value is one of its.
func randomSchema(r *rand.Rand, deep int) (schema map[string]any, valid func(any) bool) {
	kinds := 9
	if deep == 0 {
		kinds = 6
	}
	switch r.IntN(kinds) {
	case 0:
		least := r.IntN(4)
		most := least + r.IntN(4)
		return map[string]any{"type": "string", "minLength": least, "maxLength": most}, func(v any) bool {
			s, ok := v.(string)
			n := utf8.RuneCountInString(s)
			return ok && n >= least && n <= most
		}
	case 1:
		return map[string]any{"type": "integer", "minimum": 0}, func(v any) bool { x, ok := v.(float64); return ok && x == float64(int64(x)) && x >= 0 }
	case 2:
		return map[string]any{"type": "number"}, func(v any) bool { _, ok := v.(float64); return ok }
	case 3:
		return map[string]any{"type": []string{"boolean", "null"}}, func(v any) bool { _, ok := v.(bool); return ok || v == nil }
	case 4:
		list := []any{"a<b", "ä\n", 12.0, []any{1.0, nil}, map[string]any{"k": true}}[r.IntN(3):]
		return map[string]any{"enum": list}, func(v any) bool {
			for _, x := range list {
				if assert.ObjectsAreEqual(x, v) {
					return true
				}
			}
			return false
		}
	case 5:
		return map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "boolean"}}, func(v any) bool {
			o, ok := v.(map[string]any)
			for _, x := range o {
				_, is := x.(bool)
				ok = ok && is
			}
			return ok
		}
	case 6:
		inner, is := randomSchema(r, deep-1)
		least := r.IntN(3)
		most := least + r.IntN(3)
		return map[string]any{"type": "array", "items": inner, "minItems": least, "maxItems": most}, func(v any) bool {
			list, ok := v.([]any)
			for _, x := range list {
				ok = ok && is(x)
			}
			return ok && len(list) >= least && len(list) <= most
		}
	case 7:
		a, isA := randomSchema(r, deep-1)
		b, isB := randomSchema(r, deep-1)
		return map[string]any{"anyOf": []any{a, b}}, func(v any) bool { return isA(v) || isB(v) }
	}
	props, checks, required := map[string]any{}, map[string]func(any) bool{}, []string{}
	for i := range 1 + r.IntN(4) {
		name := fmt.Sprintf("%c\"é", 'a'+i)
		props[name], checks[name] = randomSchema(r, deep-1)
		if r.IntN(2) == 0 {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": props, "required": required, "additionalProperties": false}, func(v any) bool {
		o, ok := v.(map[string]any)
		for name, x := range o {
			ok = ok && checks[name] != nil && checks[name](x)
		}
		for _, name := range required {
			_, have := o[name]
			ok = ok && have
		}
		return ok
	}
}

// Whatever a grammar of a schema lets through is JSON, and valid by a check of its own.
func TestRandomSchemas(t *testing.T) {
	whole := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		schema, valid := randomSchema(r, 3)
		raw, err := json.Marshal(schema)
		require.NoError(t, err)
		g, err := Schema(raw)
		require.NoError(t, err, "%s", raw)
		for range 5 {
			text, ok := random(r, g)
			if !ok {
				require.GreaterOrEqual(t, len(text), 3000, "a dead end: %s: %s", raw, text)
				continue
			}
			whole++
			var v any
			require.NoError(t, json.Unmarshal([]byte(text), &v), "%s: %s", raw, text)
			require.True(t, valid(v), "%s: %s", raw, text)
		}
	}
	assert.Greater(t, whole, 1200)
}

// A text may be as deep as it likes up to a bound, where brackets are not allowed any more and those that are open can be closed.
func TestDepth(t *testing.T) {
	s, ok := JSON().Start().Next([]byte(`{"a":`))
	n := 0
	for ; ok && n < 1000; n++ {
		next, more := s.Next([]byte("["))
		if !more {
			break
		}
		s = next
	}
	assert.Greater(t, n, 20)
	assert.Less(t, n, 1000)
	s, ok = s.Next([]byte(strings.Repeat("]", n) + "}"))
	assert.True(t, ok && s.Whole())
}

// Wherever a text is, also at the bound of its depth, what may follow follows, and something does until the text is whole.
func TestNoDeadEnds(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, schema := range []string{
		`{}`, `{"type": "array", "items": {"$ref": "#"}}`,
		`{"type": "object", "properties": {"a": {"type": "string"}, "b": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}, "required": ["a", "b"]}`,
		`{"type": "array", "items": {"anyOf": [{"$ref": "#"}, {"type": "object", "properties": {"z": {"type": "string", "minLength": 3}}, "required": ["z"]}]},
			"minItems": 1}`,
	} {
		g, err := Schema([]byte(schema))
		require.NoError(t, err)
		for range 20 {
			s := g.Start()
			var text []byte
			for len(text) < 1000 && !s.Ended() {
				first := s.First()
				var may []byte
				for b, ok := range first {
					if ok {
						may = append(may, byte(b))
					}
				}
				require.NotEmpty(t, may, "%s: %s", schema, text)
				b := may[r.IntN(len(may))]
				for _, deeper := range []byte("[{") {
					if first[deeper] && r.IntN(20) > 0 {
						b = deeper
					}
				}
				next, ok := s.Next([]byte{b})
				require.True(t, ok, "%s: %s, and %q", schema, text, b)
				s, text = next, append(text, b)
			}
		}
	}
}

// Of many properties that may be left out, any may be the first, any may follow, and all may be missing; of more than go on at once it is an error, wherever
// they stand.
func TestManyProperties(t *testing.T) {
	object := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"name%d": {"type": "integer"}`, i))
		}
		return `{"type": "object", "properties": {` + strings.Join(all, ", ") + `}}`
	}
	const n = maxWays - 10
	g, err := Schema([]byte(`{"type": "array", "items": ` + object(n) + `}`))
	require.NoError(t, err)
	for _, text := range []string{`[{}]`, `[{ }]`, `[{"name0":1}]`, fmt.Sprintf(`[{"name%d":1}, {"name0":1,"name%[1]d":1}]`, n-1), fmt.Sprintf(`[{"name7":1, "name%d": 12 }]`, n-1)} {
		assert.True(t, allows(g, text), text)
	}
	for _, schema := range []string{object(600), `{"type": "array", "items": ` + object(600) + `}`} {
		_, err = Schema([]byte(schema))
		require.ErrorContains(t, err, "more than 400 ways")
	}
}

// A text of more states than are remembered is judged as any other.
func TestManyStates(t *testing.T) {
	g, err := Schema([]byte(`{"type": "array", "items": {"type": "string", "maxLength": 3000}, "maxItems": 4}`))
	require.NoError(t, err)
	long := `"` + strings.Repeat("a", 3000) + `"`
	assert.True(t, allows(g, `[`+long+`,`+long+`, `+long+`]`))
	assert.False(t, allows(g, `[`+long+`,"`+strings.Repeat("a", 3001)+`"]`))
	s, ok := g.Start().Next([]byte(`[` + long + `,` + long))
	require.True(t, ok)
	assert.LessOrEqual(t, len(s.t.states), maxStates)
	again, ok := s.Next([]byte(`,""]`))
	assert.True(t, ok && again.Whole())
}

func FuzzSchema(f *testing.F) {
	for _, s := range []string{`{"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}`, `{"anyOf": [{"$ref": "#"}, {"type": "null"}]}`,
		`{"prefixItems": [true], "minItems": 2, "maxItems": 3}`, `{"enum": [1, "a", {"b": []}]}`, `{"minLength": 2, "maxLength": 9}`} {
		f.Add([]byte(s), uint64(1))
	}
	f.Fuzz(func(t *testing.T, schema []byte, seed uint64) {
		g, err := Schema(schema)
		if err != nil {
			return
		}
		if text, ok := random(rand.New(rand.NewPCG(seed, 1)), g); ok {
			require.True(t, json.Valid([]byte(text)), "%s: %s", schema, text)
		}
	})
}
