package serve

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/weft-ml/weft/llm"
	"github.com/weft-ml/weft/llm/chat"
	"github.com/weft-ml/weft/llm/grammar"
	"github.com/weft-ml/weft/tokenizer"
)

// request is what of the requests of the three paths is read. Fields that are not here (user, metadata, store …) change no answer and are
// passed over; those that would change it and are not known are refused.
type request struct {
	Model    string            `json:"model"`
	Messages []json.RawMessage `json:"messages"`
	Prompt   json.RawMessage   `json:"prompt"`
	Input    json.RawMessage   `json:"input"`
	Tools    []json.RawMessage `json:"tools"`
	More     json.RawMessage   `json:"chat_template_kwargs"` // variables of the template

	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	Temperature         *float64        `json:"temperature"`
	TopP                *float64        `json:"top_p"`
	TopK                *int            `json:"top_k"`
	MinP                *float64        `json:"min_p"`
	Repetition          *float64        `json:"repetition_penalty"`
	Seed                *int64          `json:"seed"`
	Stop                json.RawMessage `json:"stop"`
	Stream              bool            `json:"stream"`
	StreamOptions       struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
	Encoding string `json:"encoding_format"`

	N              *int            `json:"n"`
	BestOf         *int            `json:"best_of"`
	Echo           bool            `json:"echo"`
	Suffix         string          `json:"suffix"`
	LogProbs       json.RawMessage `json:"logprobs"`
	Presence       float64         `json:"presence_penalty"`
	Frequency      float64         `json:"frequency_penalty"`
	LogitBias      map[string]any  `json:"logit_bias"`
	ResponseFormat *struct {
		Type   string `json:"type"`
		Schema *struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
	Grammar    string          `json:"grammar"` // in GBNF, as llama.cpp's server takes it
	ToolChoice json.RawMessage `json:"tool_choice"`
	Dimensions *int            `json:"dimensions"`
}

func (s *Server) parse(body []byte) (*request, error) {
	var q request
	d := json.NewDecoder(bytes.NewReader(body))
	if err := d.Decode(&q); err != nil {
		return nil, refuse(http.StatusBadRequest, "", "the body is no request in JSON: %v", inJSON(err))
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, refuse(http.StatusBadRequest, "", "the body has more than one JSON value")
	}
	if q.Model != "" && q.Model != s.options.Name {
		return nil, s.unknownModel(q.Model)
	}
	return &q, q.known()
}

// inJSON says of a value of the wrong kind where it stands, in the words of JSON rather than of this program.
func inJSON(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case err == io.EOF:
		return errors.New("it is empty")
	case !errors.As(err, &wrong):
		return err
	}
	kind := "an object"
	switch wrong.Type.Kind() {
	case reflect.String:
		kind = "a text"
	case reflect.Bool:
		kind = "true or false"
	case reflect.Int, reflect.Int64:
		kind = "an integer of 64 bits"
	case reflect.Float64:
		kind = "a number of 64 bits"
	case reflect.Slice:
		kind = "a list"
	}
	return fmt.Errorf("%s is %.40s, where %s belongs", cmp.Or(wrong.Field, "it"), wrong.Value, kind)
}

// known refuses what would change the answer and is not here.
func (q *request) known() error {
	bad := func(param, why string) error {
		return refuse(http.StatusBadRequest, param, "%s is not known here: %s", param, why)
	}
	one := func(n *int) bool { return n == nil || *n == 1 }
	none := func(raw json.RawMessage, also ...string) bool {
		return len(raw) == 0 || string(raw) == "null" || slices.Contains(also, string(raw))
	}
	switch {
	case !one(q.N):
		return bad("n", "one answer is made a request")
	case !one(q.BestOf):
		return bad("best_of", "one answer is made a request")
	case q.Echo:
		return bad("echo", "the prompt is not given back")
	case q.Suffix != "":
		return bad("suffix", "a text is continued at its end")
	case !none(q.LogProbs, "false", "0"):
		return bad("logprobs", "probabilities are not given")
	case q.Presence != 0:
		return bad("presence_penalty", "repetition_penalty is")
	case q.Frequency != 0:
		return bad("frequency_penalty", "repetition_penalty is")
	case len(q.LogitBias) > 0:
		return bad("logit_bias", "tokens are not weighted")
	case q.ResponseFormat != nil && !slices.Contains([]string{"text", "json_object", "json_schema"}, q.ResponseFormat.Type):
		return bad("response_format", "text, json_object and json_schema are")
	case !none(q.ToolChoice, `"auto"`, `"none"`):
		return bad("tool_choice", "the model decides; \"auto\" and \"none\" are")
	case q.Dimensions != nil:
		return bad("dimensions", "a vector has as many as the model")
	case q.Encoding != "" && q.Encoding != "float" && q.Encoding != "base64":
		return bad("encoding_format", "float and base64 are")
	}
	return nil
}

const maxStops, maxStop = 16, 256

// generation makes the options of an answer to a prompt of so many tokens, of which the first keep stay when there is no room left.
func (s *Server) generation(q *request, prompt, keep int) (o llm.Generation, err error) {
	o.Shift, o.Keep = s.options.Shift, keep
	room := s.model.Config.Length - prompt
	if o.Shift {
		if _, err := s.model.Shifted(nil, keep); err != nil {
			return o, refuse(http.StatusBadRequest, "messages", "what stands before the first message of a user is too long: %v", err)
		}
		room = s.options.Tokens
	}
	if room < 1 {
		return o, refuse(http.StatusBadRequest, "messages", "the prompt has %d tokens; with an answer there is room for %d", prompt, s.model.Config.Length)
	}
	o.Tokens = min(room, s.options.Tokens)
	for _, n := range []*int{q.MaxTokens, q.MaxCompletionTokens} {
		if n == nil {
			continue
		}
		if *n < 1 {
			return o, refuse(http.StatusBadRequest, "max_tokens", "an answer of %d tokens; it has 1 at least", *n)
		}
		o.Tokens = min(o.Tokens, *n)
	}
	p := &llm.Sampler{Temperature: 1}
	o.Sampler = p
	for _, f := range []struct {
		name       string
		from       *float64
		to         *float64
		least, top float64
	}{{"temperature", q.Temperature, &p.Temperature, 0, 100}, {"top_p", q.TopP, &p.TopP, 0, 1}, {"min_p", q.MinP, &p.MinP, 0, 1},
		{"repetition_penalty", q.Repetition, &p.Repetition, 0, 100}} {
		if f.from == nil {
			continue
		}
		if !(*f.from >= f.least && *f.from <= f.top) {
			return o, refuse(http.StatusBadRequest, f.name, "%s is %v; it is from %v to %v", f.name, *f.from, f.least, f.top)
		}
		*f.to = *f.from
	}
	if p.TopP == 1 {
		p.TopP = 0
	}
	if q.TopK != nil {
		if *q.TopK < 0 {
			return o, refuse(http.StatusBadRequest, "top_k", "top_k is %d; it is from 0 on", *q.TopK)
		}
		p.TopK = *q.TopK
	}
	if p.Seed = s.seed(); q.Seed != nil {
		p.Seed = uint64(*q.Seed)
	}
	if o.Grammar, err = q.grammar(); err != nil {
		return o, err
	}
	o.Stop, err = stops(q.Stop)
	return o, err
}

// grammar is what an answer is held to; nil: nothing.
func (q *request) grammar() (*grammar.Grammar, error) {
	f := q.ResponseFormat
	switch {
	case q.Grammar != "" && f != nil && f.Type != "text":
		return nil, refuse(http.StatusBadRequest, "grammar", "an answer is held to a grammar or to a response_format, not to both")
	case q.Grammar != "":
		g, err := grammar.GBNF([]byte(q.Grammar))
		if err != nil {
			return nil, refuse(http.StatusBadRequest, "grammar", "%v", err)
		}
		return g, nil
	case f == nil || f.Type == "text":
		return nil, nil
	case f.Type == "json_object":
		return grammar.JSON(), nil
	case f.Schema == nil || len(f.Schema.Schema) == 0:
		return nil, refuse(http.StatusBadRequest, "response_format", "response_format of json_schema has no json_schema.schema")
	}
	g, err := grammar.Schema(f.Schema.Schema)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "response_format", "%v", err)
	}
	return g, nil
}

func stops(raw json.RawMessage) ([]string, error) {
	all, err := texts(raw)
	if err != nil || len(all) > maxStops {
		return nil, refuse(http.StatusBadRequest, "stop", "stop is a text or a list of at most %d", maxStops)
	}
	for _, t := range all {
		if t == "" || len(t) > maxStop {
			return nil, refuse(http.StatusBadRequest, "stop", "a text of stop has 1 to %d bytes", maxStop)
		}
	}
	return all, nil
}

// texts reads a text or a list of texts; nothing where there is none.
func texts(raw json.RawMessage) (out []string, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return []string{one}, nil
	}
	return out, json.Unmarshal(raw, &out)
}

// prompts reads one text, several, or tokens: the forms that prompt and input may have.
func (s *Server) prompts(param string, raw json.RawMessage, most int) (out [][]int, err error) {
	bad := func(format string, args ...any) ([][]int, error) {
		return nil, refuse(http.StatusBadRequest, param, format, args...)
	}
	all, err := texts(raw)
	var ids []int
	var lists [][]int
	switch {
	case err == nil && len(all) == 0:
		return bad("%s is missing", param)
	case err == nil:
		for _, t := range all {
			ids, err := s.model.Tokenizer.Encode(t, tokenizer.Options{Special: true, Plain: true})
			if err != nil {
				return bad("%s: %v", param, err)
			}
			out = append(out, ids)
		}
	case json.Unmarshal(raw, &ids) == nil:
		out = [][]int{ids}
	case json.Unmarshal(raw, &lists) == nil:
		out = lists
	default:
		return bad("%s is a text, a list of texts, or tokens", param)
	}
	if len(out) > most {
		return bad("%s has %d texts; at most %d are taken at once", param, len(out), most)
	}
	for _, ids := range out {
		if len(ids) == 0 {
			return bad("%s has an empty text", param)
		}
		if len(ids) > s.model.Config.Length && !(param == "prompt" && s.options.Shift) {
			return bad("%s has %d tokens; there is room for %d", param, len(ids), s.model.Config.Length)
		}
		for _, id := range ids {
			if id < 0 || id >= s.model.Config.Vocab {
				return bad("%s has the token %d, of a vocabulary of %d", param, id, s.model.Config.Vocab)
			}
		}
	}
	return out, nil
}

// conversation makes tokens of the messages of a request, and says how many of them stay when there is no room left.
func (s *Server) conversation(q *request) (ids []int, keep int, err error) {
	if len(q.Messages) == 0 {
		return nil, 0, refuse(http.StatusBadRequest, "messages", "there are no messages")
	}
	in := chat.Input{Answer: true, Tools: q.Tools}
	if string(q.ToolChoice) == `"none"` {
		in.Tools = nil
	}
	if len(q.More) > 0 && string(q.More) != "null" {
		if err := json.Unmarshal(q.More, &in.More); err != nil {
			return nil, 0, refuse(http.StatusBadRequest, "chat_template_kwargs", "chat_template_kwargs is an object of variables: %v", inJSON(err))
		}
		if err := chat.CheckMore(in.More); err != nil {
			return nil, 0, refuse(http.StatusBadRequest, "chat_template_kwargs", "chat_template_kwargs: %v", err)
		}
	}
	for i, raw := range q.Messages {
		raw, err := flat(raw)
		if err != nil {
			return nil, 0, refuse(http.StatusBadRequest, "messages", "message %d: %v", i+1, err)
		}
		var m struct{ Role string }
		_ = json.Unmarshal(raw, &m) // flat has read it
		in.Messages = append(in.Messages, chat.Message{Role: m.Role, Whole: raw})
	}
	ids, err = s.model.Prompt(in)
	if err == nil && s.options.Shift {
		keep, err = s.model.Head(in)
	}
	if err != nil {
		return nil, 0, refuse(http.StatusBadRequest, "messages", "%v", err)
	}
	if len(ids) == 0 {
		return nil, 0, refuse(http.StatusBadRequest, "messages", "the conversation makes an empty text")
	}
	return ids, keep, nil
}

// flat has the content of a message that is a list of texts be one text, as templates of models without pictures want it. A part of another
// kind stays where it is, for templates that know it.
func flat(raw json.RawMessage) (json.RawMessage, error) {
	var m struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, inJSON(err)
	}
	if m.Role == "" {
		return nil, refuse(http.StatusBadRequest, "messages", "it has no role")
	}
	var parts []struct{ Type, Text string }
	if json.Unmarshal(m.Content, &parts) != nil || len(parts) == 0 {
		return raw, nil
	}
	var all []string
	for _, p := range parts {
		if p.Type != "text" {
			return nil, refuse(http.StatusBadRequest, "messages", "a part of the type %.32q: the model reads text", p.Type)
		}
		all = append(all, p.Text)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	fields["content"], _ = json.Marshal(strings.Join(all, ""))
	return json.Marshal(fields)
}
