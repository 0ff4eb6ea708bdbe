// Package chat makes the text that a language model was trained to answer of the messages of a conversation, by the template that comes
// with the model: a bounded part of the template language Jinja, as the templates of Llama, Qwen, Mistral, Gemma, Phi, DeepSeek and SmolLM
// use it.
//
// It refuses to know models and tokenizers. A template is a file of strangers: it reads nothing but its variables, changes none of them,
// makes a bounded number of steps and a bounded text, and what it asks for and is not here is an error that names it and its line.
//
//	t, err := chat.Parse("chat_template.jinja", source)
//	prompt, err := t.Render(chat.Input{Messages: []chat.Message{{Role: "user", Content: "Hello"}}, Answer: true, BOS: "<s>", EOS: "</s>"})
package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// What a template may be and do.
const (
	maxSource = 1 << 20 // bytes of a template
	maxSteps  = 1 << 22 // expressions and statements evaluated
	maxOutput = 1 << 25 // bytes of text, in all that is made on the way as well
	maxDepth  = 200     // of expressions and blocks in each other, and of macros that call macros
	maxJSON   = 1 << 24 // bytes of a message or a tool
)

// Template is a parsed template. It may be used from several goroutines.
type Template struct {
	name string
	body []statement
}

// Message is one of a conversation.
type Message struct {
	Role    string `json:"role"` // "system", "user", "assistant", "tool"
	Content string `json:"content"`
	// Whole is the message as JSON, with all fields that it has; nil: of Role and Content.
	Whole json.RawMessage `json:"-"`
}

// Input is what a template is given.
type Input struct {
	Messages []Message
	// Answer asks for the words with which the model's answer begins.
	Answer   bool
	BOS, EOS string
	// Tools are descriptions of functions, each an object in JSON; nil: the template sees that there are none.
	Tools []json.RawMessage
	// Now is what strftime_now tells; the zero time: the time of day.
	Now time.Time
	// More are further variables by name: a JSON value each. They stand in for those that the template has anyway; for what
	// strangers name see CheckMore.
	More map[string]json.RawMessage
}

// CheckMore says which of further variables would replace what every template is given: the fields of Input, and functions. Of several it
// names the first.
func CheckMore(more map[string]json.RawMessage) error {
	for _, name := range slices.Sorted(maps.Keys(more)) {
		_, function := functions[name]
		if _, own := (Input{}).own()[name]; own || function {
			return fmt.Errorf("the variable %q is given by other means", name)
		}
	}
	return nil
}

// own are the variables that every template has.
func (in Input) own() map[string]any {
	return map[string]any{"messages": nil, "add_generation_prompt": in.Answer, "bos_token": in.BOS, "eos_token": in.EOS, "tools": nil}
}

// Error is what is wrong with a template, or what it refused, and where.
type Error struct {
	Name  string // of the template
	Line  int    // from 1 on; 0: of the whole
	Cause string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("chat: %s: %s", e.Name, e.Cause)
	}
	return fmt.Sprintf("chat: %s:%d: %s", e.Name, e.Line, e.Cause)
}

// Parse reads a template. Name is for errors.
func Parse(name, source string) (*Template, error) {
	if len(source) > maxSource {
		return nil, &Error{Name: name, Cause: fmt.Sprintf("the template has %d bytes; at most %d are read", len(source), maxSource)}
	}
	pieces, err := scan(name, source)
	if err != nil {
		return nil, err
	}
	p := &parser{name: name, pieces: pieces}
	body, err := p.parse()
	if err != nil {
		return nil, err
	}
	return &Template{name: name, body: body}, nil
}

// Render makes the text of a conversation.
func (t *Template) Render(in Input) (string, error) {
	vars := in.own()
	vars["documents"] = nil // which More may give
	messages := &list{}
	for i, m := range in.Messages {
		v, err := m.value()
		if err != nil {
			return "", &Error{Name: t.name, Cause: fmt.Sprintf("message %d: %v", i+1, err)}
		}
		messages.items = append(messages.items, v)
	}
	vars["messages"] = messages
	if in.Tools != nil {
		tools := &list{}
		for i, raw := range in.Tools {
			v, err := fromJSON(raw)
			if err != nil {
				return "", &Error{Name: t.name, Cause: fmt.Sprintf("tool %d: %v", i+1, err)}
			}
			tools.items = append(tools.items, v)
		}
		vars["tools"] = tools
	}
	for name, raw := range in.More {
		v, err := fromJSON(raw)
		if err != nil {
			return "", &Error{Name: t.name, Cause: fmt.Sprintf("variable %q: %v", name, err)}
		}
		vars[name] = v
	}
	now := in.Now
	if now.IsZero() {
		now = time.Now()
	}
	return t.run(vars, now)
}

func (m Message) value() (any, error) {
	if m.Whole != nil {
		v, err := fromJSON(m.Whole)
		if _, ok := v.(*dict); err == nil && !ok {
			err = fmt.Errorf("it is %s, not an object", kind(v))
		}
		return v, err
	}
	d := newDict()
	d.set("role", m.Role)
	d.set("content", m.Content)
	return d, nil
}

// fromJSON reads a value; objects keep the order of their keys.
func fromJSON(raw []byte) (any, error) {
	if len(raw) > maxJSON {
		return nil, fmt.Errorf("%d bytes of JSON; at most %d are read", len(raw), maxJSON)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := readJSON(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one JSON value")
	}
	return v, nil
}

func readJSON(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("JSON nested deeper than %d", maxDepth)
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '[' {
			out := &list{}
			for d.More() {
				v, err := readJSON(d, depth+1)
				if err != nil {
					return nil, err
				}
				out.items = append(out.items, v)
			}
			_, err = d.Token()
			return out, err
		}
		out := newDict()
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := readJSON(d, depth+1)
			if err != nil {
				return nil, err
			}
			out.set(key.(string), v)
		}
		_, err = d.Token()
		return out, err
	case json.Number:
		if n, err := t.Int64(); err == nil && !strings.ContainsAny(t.String(), ".eE") {
			return n, nil
		}
		return t.Float64()
	}
	return t, nil // a string, a bool or nil
}

// Messages reads a list of messages in JSON, each an object with a role.
func Messages(raw []byte) ([]Message, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("chat: the messages are no list in JSON: %w", err)
	}
	var out []Message
	for i, one := range list {
		var m Message
		if err := json.Unmarshal(one, &struct{ Role *string }{&m.Role}); err != nil {
			return nil, fmt.Errorf("chat: message %d: %w", i+1, err)
		}
		if m.Role == "" {
			return nil, fmt.Errorf("chat: message %d has no role", i+1)
		}
		m.Whole = one
		out = append(out, m)
	}
	return out, nil
}
