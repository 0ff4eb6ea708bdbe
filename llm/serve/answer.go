package serve

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/weft-ml/weft/llm"
)

func (s *Server) seed() uint64 { return rand.Uint64() }

// id names an answer.
func id(prefix string) string { return fmt.Sprintf("%s-%016x", prefix, rand.Uint64()) }

// ask has a prompt be continued. The client's context ends it.
func (s *Server) ask(ctx context.Context, prompt []int, o llm.Generation) (*job, error) {
	r, err := s.model.NewReply(prompt, o)
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "", "%v", err)
	}
	text := prompt
	if o.Shift {
		if text, err = s.model.Shifted(prompt, o.Keep); err != nil {
			return nil, err
		}
	}
	j := newJob(ctx, prompt)
	j.text, j.reply, j.shift, j.keep = text, r, o.Shift, o.Keep
	j.held = o.Grammar != nil || o.Sampler != nil && o.Sampler.Allow != nil
	return j, s.put(j)
}

// form is how the two kinds of completions are written.
type form struct {
	prefix, object, chunk string
	whole                 func(text, finish string) map[string]any
	part                  func(text string, first bool) map[string]any
}

var chatForm = form{"chatcmpl", "chat.completion", "chat.completion.chunk",
	func(text, finish string) map[string]any {
		return map[string]any{"index": 0, "message": map[string]any{"role": "assistant", "content": text, "refusal": nil}, "logprobs": nil, "finish_reason": finish}
	},
	func(text string, first bool) map[string]any {
		delta := map[string]any{"content": text}
		if first {
			delta["role"] = "assistant"
		}
		return map[string]any{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": nil}
	}}

var textForm = form{"cmpl", "text_completion", "text_completion",
	func(text, finish string) map[string]any {
		return map[string]any{"index": 0, "text": text, "logprobs": nil, "finish_reason": finish}
	},
	func(text string, first bool) map[string]any {
		return map[string]any{"index": 0, "text": text, "logprobs": nil, "finish_reason": nil}
	}}

func (s *Server) chatCompletions(w http.ResponseWriter, r *http.Request, body []byte) error {
	q, err := s.parse(body)
	if err != nil {
		return err
	}
	prompt, keep, err := s.conversation(q)
	if err != nil {
		return err
	}
	return s.complete(w, r, q, prompt, keep, chatForm)
}

func (s *Server) completions(w http.ResponseWriter, r *http.Request, body []byte) error {
	q, err := s.parse(body)
	if err != nil {
		return err
	}
	if q.MaxTokens == nil { // as the protocol has it
		usual := 16
		q.MaxTokens = &usual
	}
	prompts, err := s.prompts("prompt", q.Prompt, 1)
	if err != nil {
		return err
	}
	return s.complete(w, r, q, prompts[0], 0, textForm)
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request, q *request, prompt []int, keep int, f form) error {
	o, err := s.generation(q, len(prompt), keep)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	j, err := s.ask(ctx, prompt, o)
	if err != nil {
		return err
	}
	head := map[string]any{"id": id(f.prefix), "created": time.Now().Unix(), "model": s.options.Name}
	if q.Stream {
		s.stream(w, q, j, f, head)
		return nil
	}
	var text strings.Builder
	for e := range j.events {
		text.WriteString(e.text)
	}
	if j.err != nil {
		return j.err
	}
	head["object"], head["choices"], head["usage"] = f.object, []any{f.whole(text.String(), j.reply.Finish)}, j.usage()
	reply(w, http.StatusOK, head)
	return nil
}

func (j *job) usage() map[string]any {
	made := 0
	if j.reply != nil {
		made = j.reply.Tokens
	}
	return map[string]any{"prompt_tokens": len(j.prompt), "completion_tokens": made, "total_tokens": len(j.prompt) + made}
}

// patience is how long a client may take to read what it was sent.
const patience = 30 * time.Second

// stream sends an answer as it is made: server-sent events, the last of which is [DONE].
func (s *Server) stream(w http.ResponseWriter, q *request, j *job, f form, head map[string]any) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	rc := http.NewResponseController(w)
	send := func(v any) bool {
		raw, err := json.Marshal(v)
		if err != nil {
			return false
		}
		_ = rc.SetWriteDeadline(time.Now().Add(patience))
		if _, err = fmt.Fprintf(w, "data: %s\n\n", raw); err == nil {
			err = rc.Flush()
		}
		return err == nil
	}
	head["object"] = f.chunk
	choices := func(c ...any) map[string]any {
		head["choices"] = append([]any{}, c...)
		return head
	}
	w.WriteHeader(http.StatusOK)
	_ = rc.Flush()
	first := true
	for e := range j.events {
		if !send(choices(f.part(e.text, first))) {
			return
		}
		first = false
	}
	if j.err != nil {
		_, body := problem(j.err)
		send(body)
		return
	}
	last := f.part("", first)
	if !first && f.prefix == chatForm.prefix {
		last["delta"] = map[string]any{}
	}
	last["finish_reason"] = j.reply.Finish
	if !send(choices(last)) {
		return
	}
	if q.StreamOptions.Usage {
		head["usage"] = j.usage()
		if !send(choices()) {
			return
		}
	}
	if _, err := fmt.Fprint(w, "data: [DONE]\n\n"); err == nil {
		_ = rc.Flush()
	}
}

const maxInputs = 64

// embeddings gives a vector a text.
func (s *Server) embeddings(w http.ResponseWriter, r *http.Request, body []byte) error {
	q, err := s.parse(body)
	if err != nil {
		return err
	}
	prompts, err := s.prompts("input", q.Input, min(maxInputs, s.places()))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	var jobs []*job
	for _, p := range prompts {
		j := newJob(ctx, p)
		j.embed = true
		jobs = append(jobs, j)
	}
	if err := s.put(jobs...); err != nil {
		return err
	}
	data := []any{}
	tokens := 0
	for i, j := range jobs {
		for range j.events {
		}
		if j.err != nil {
			return j.err
		}
		tokens += len(j.prompt)
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": vector(j.vector, q.Encoding)})
	}
	reply(w, http.StatusOK, map[string]any{"object": "list", "data": data, "model": s.options.Name,
		"usage": map[string]any{"prompt_tokens": tokens, "total_tokens": tokens}})
	return nil
}

// vector writes numbers as a list, or as the bytes of float32 in base64.
func vector(v []float32, encoding string) any {
	if encoding != "base64" {
		return v
	}
	raw := make([]byte, 4*len(v))
	for i, x := range v {
		binary.LittleEndian.PutUint32(raw[4*i:], math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(raw)
}
