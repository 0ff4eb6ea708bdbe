package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/llm"
	"github.com/weft-ml/weft/llm/chat"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/tokenizer"
)

var ctx = context.Background()

const template = "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('no tools here') }}{% endif %}{{ m.content }} {% endfor %}"

func stories(t testing.TB, o llm.Options) *llm.Model {
	o.Device = "CPU"
	m, err := llm.Open(ctx, need.Data(t, "models", "stories260k", "stories260K.bin"), o)
	require.NoError(t, err)
	raw, err := os.ReadFile(need.Data(t, "models", "stories260k", "tok512.bin"))
	require.NoError(t, err)
	m.Tokenizer, err = tokenizer.FromLlama2c("tok512.bin", raw)
	require.NoError(t, err)
	m.Talk.BOS = "<s>"
	m.Talk.Template, err = chat.Parse("template", template)
	require.NoError(t, err)
	return m
}

func server(t testing.TB, o Options, of llm.Options) (*Server, *httptest.Server) {
	return serving(t, stories(t, of), o)
}

func serving(t testing.TB, m *llm.Model, o Options) (*Server, *httptest.Server) {
	s, err := New(ctx, m, o)
	require.NoError(t, err)
	h := httptest.NewServer(s)
	t.Cleanup(func() { h.Close(); s.Close() })
	return s, h
}

// ask posts a request and gives the status and the body.
func ask(t testing.TB, url, path, body string) (int, map[string]any) {
	r, err := http.Post(url+path, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer r.Body.Close()
	var out map[string]any
	require.NoError(t, json.NewDecoder(r.Body).Decode(&out))
	return r.StatusCode, out
}

func choice(t testing.TB, answer map[string]any) map[string]any {
	require.NotEmpty(t, answer["choices"], "%v", answer)
	return answer["choices"].([]any)[0].(map[string]any)
}

// stream posts a request whose answer is streamed, and gives the text, the last choice's reason and the last usage.
func stream(url, path, body string) (text, reason string, usage any, err error) {
	r, err := http.Post(url+path, "application/json", strings.NewReader(body))
	if err != nil {
		return "", "", nil, err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		raw, _ := io.ReadAll(r.Body)
		return "", "", nil, fmt.Errorf("status %d: %s", r.StatusCode, raw)
	}
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			return text, reason, usage, lines.Err()
		}
		var e struct {
			Choices []struct {
				Text   string
				Delta  struct{ Content string }
				Finish string `json:"finish_reason"`
			}
			Usage any
			Error any
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil || e.Error != nil {
			return text, reason, usage, fmt.Errorf("%s: %v", data, err)
		}
		usage = e.Usage
		for _, c := range e.Choices {
			text += c.Text + c.Delta.Content
			reason = c.Finish
		}
	}
	return text, reason, usage, fmt.Errorf("the stream ends without [DONE]: %v", lines.Err())
}

// An answer is what a schema wants, streamed or not, also beside answers that are held to nothing.
func TestSchemaAnswers(t *testing.T) {
	_, h := server(t, Options{Name: "stories"}, llm.Options{})
	const form = `"response_format": {"type": "json_schema", "json_schema": {"name": "girl", "strict": true, "schema": {"type": "object",
		"properties": {"name": {"type": "string", "maxLength": 8}, "age": {"type": "integer", "minimum": 0}}, "required": ["name", "age"], "additionalProperties": false}}}`
	free := make(chan error)
	go func() {
		_, _, _, err := stream(h.URL, "/v1/completions", `{"prompt": "Lily", "max_tokens": 60, "stream": true}`)
		free <- err
	}()
	for seed := range 4 {
		body := fmt.Sprintf(`{"prompt": "Lily", "max_tokens": 80, "seed": %d, %s`, seed, form)
		text, reason, _, err := stream(h.URL, "/v1/completions", body+`, "stream": true}`)
		require.NoError(t, err)
		assert.Equal(t, "stop", reason)
		var v struct {
			Name *string
			Age  *uint64
		}
		require.NoError(t, json.Unmarshal([]byte(text), &v), text)
		require.True(t, v.Name != nil && v.Age != nil, text)
		status, got := ask(t, h.URL, "/v1/completions", body+`}`)
		require.Equal(t, 200, status, "%v", got)
		assert.Equal(t, text, choice(t, got)["text"])
	}
	require.NoError(t, <-free)
	status, got := ask(t, h.URL, "/v1/completions", `{"prompt": "Lily", "max_tokens": 200, "temperature": 0, "response_format": {"type": "json_object"}}`)
	require.Equal(t, 200, status, "%v", got)
	assert.True(t, strings.HasPrefix(choice(t, got)["text"].(string), "{"))
	status, got = ask(t, h.URL, "/v1/completions", `{"prompt": "Lily", "max_tokens": 80, "seed": 2, "grammar": "root ::= [A-Z] [a-z]{2,8} \" is \" (\"big\" | \"small\") \".\""}`)
	require.Equal(t, 200, status, "%v", got)
	assert.Regexp(t, `^[A-Z][a-z]{2,8} is (big|small)\.$`, choice(t, got)["text"])
	assert.Equal(t, "stop", choice(t, got)["finish_reason"])
}

// A greedy answer is the recorded text, at once or in pieces, as a completion or in a conversation.
func TestRecordedText(t *testing.T) {
	_, h := server(t, Options{Name: "stories"}, llm.Options{})
	raw, err := os.ReadFile(need.Data(t, "models", "stories260k", "greedy_text.txt"))
	require.NoError(t, err)
	want := strings.TrimSpace(string(raw))
	const ask256 = `{"model": "stories", "prompt": "", "max_tokens": 256, "temperature": 0`
	status, got := ask(t, h.URL, "/v1/completions", ask256+`}`)
	require.Equal(t, 200, status, "%v", got)
	text := choice(t, got)["text"].(string)
	assert.Equal(t, want, strings.TrimSpace(text))
	assert.Equal(t, "length", choice(t, got)["finish_reason"])
	assert.Equal(t, map[string]any{"prompt_tokens": 1., "completion_tokens": 256., "total_tokens": 257.}, got["usage"])
	piece, reason, usage, err := stream(h.URL, "/v1/completions", ask256+`, "stream": true, "stream_options": {"include_usage": true}}`)
	require.NoError(t, err)
	assert.Equal(t, text, piece)
	assert.Equal(t, "length", reason)
	assert.Equal(t, got["usage"], usage)
	const talk = `{"messages": [{"role": "user", "content": [{"type": "text", "text": "Once upon"}, {"type": "text", "text": " a time"}]}], "temperature": 0, "max_tokens": 40`
	status, got = ask(t, h.URL, "/v1/chat/completions", talk+`}`)
	require.Equal(t, 200, status, "%v", got)
	message := choice(t, got)["message"].(map[string]any)
	assert.Equal(t, "assistant", message["role"])
	piece, _, _, err = stream(h.URL, "/v1/chat/completions", talk+`, "stream": true}`)
	require.NoError(t, err)
	assert.Equal(t, message["content"], piece)
	cut := piece[10:14]
	quoted, _ := json.Marshal(cut)
	stopped, reason, _, err := stream(h.URL, "/v1/chat/completions", talk+`, "stream": true, "stop": `+string(quoted)+`}`)
	require.NoError(t, err)
	assert.Equal(t, piece[:strings.Index(piece, cut)], stopped)
	assert.Equal(t, "stop", reason)
}

// Fifty clients at once get what each gets alone, also where the beginning of a prompt is still there from an earlier one. WEFT_SERVE=1m
// has them ask for so long.
func TestMany(t *testing.T) {
	s, h := server(t, Options{Texts: 5}, llm.Options{Chunk: 8})
	body := func(i int) string {
		return fmt.Sprintf(`{"prompt": "Once upon a time there was a %s little %s. She had a friend", "max_tokens": %d, "temperature": %v, "seed": %d, "stream": true}`,
			[]string{"big", "blue", "sad"}[i%3], []string{"cat", "girl", "tree", "dog"}[i%4], 10+i%30, float64(i%2), i)
	}
	const clients = 50
	want := make([]string, clients)
	for i := range want {
		text, reason, _, err := stream(h.URL, "/v1/completions", body(i))
		require.NoError(t, err)
		require.NotEmpty(t, text)
		want[i] = text + reason
	}
	var long time.Duration
	if v := os.Getenv("WEFT_SERVE"); v != "" {
		var err error
		long, err = time.ParseDuration(v)
		require.NoError(t, err)
	}
	begin := time.Now()
	var wait sync.WaitGroup
	var asked atomic.Int64
	asked.Store(clients)
	for i := range clients {
		wait.Go(func() {
			for again := true; again; again = time.Since(begin) < long {
				asked.Add(1)
				text, reason, _, err := stream(h.URL, "/v1/completions", body(i))
				if !assert.NoError(t, err, "client %d", i) || !assert.Equal(t, want[i], text+reason, "client %d", i) {
					return
				}
			}
		})
	}
	wait.Wait()
	t.Logf("%d tokens in %d steps, %d tokens of prompts read", s.figures.made.Load(), s.figures.steps.Load(), s.figures.read.Load())
	assert.Less(t, s.figures.read.Load(), 20*asked.Load(), "beginnings were not read again")
}

// A client that goes away frees its place, whether its answer is made, its prompt is read or it waits.
func TestGone(t *testing.T) {
	s, h := server(t, Options{Texts: 1}, llm.Options{Chunk: 2})
	for range 3 {
		c, cancel := context.WithCancel(ctx)
		r, err := http.NewRequestWithContext(c, "POST", h.URL+"/v1/completions", strings.NewReader(`{"prompt": "Once upon a time", "max_tokens": 500, "stream": true}`))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		_, _ = answer.Body.Read(make([]byte, 10))
		cancel()
		answer.Body.Close()
	}
	status, _ := ask(t, h.URL, "/v1/completions", `{"prompt": "Once", "max_tokens": 3}`)
	assert.Equal(t, 200, status)
	assert.Eventually(t, func() bool { return s.figures.gone.Load() >= 1 }, time.Minute, 10*time.Millisecond)
	s.Close()
	status, got := ask(t, h.URL, "/v1/completions", `{"prompt": "Once", "max_tokens": 3}`)
	assert.Equal(t, 503, status, "%v", got)
	status, got = ask(t, h.URL, "/v1/completions", `{"prompt": "Once", "max_tokens": 3}`)
	assert.Equal(t, 503, status, "%v", got)
}

// More than may wait are refused, and told when to come again.
func TestTooMany(t *testing.T) {
	_, h := server(t, Options{Texts: 1, Waiting: 1}, llm.Options{})
	var wait sync.WaitGroup
	var mu sync.Mutex
	count := map[int]int{}
	for range 12 {
		wait.Go(func() {
			r, err := http.Post(h.URL+"/v1/completions", "application/json", strings.NewReader(`{"prompt": "Once", "max_tokens": 200}`))
			if !assert.NoError(t, err) {
				return
			}
			r.Body.Close()
			if r.StatusCode == 429 {
				assert.Equal(t, "1", r.Header.Get("Retry-After"))
			}
			mu.Lock()
			count[r.StatusCode]++
			mu.Unlock()
		})
	}
	wait.Wait()
	assert.Equal(t, 12, count[200]+count[429])
	assert.Positive(t, count[200])
	assert.Positive(t, count[429])
}

// As many as there are places for are taken at once, and a request for more than that is not told to come again.
func TestPlaces(t *testing.T) {
	_, h := server(t, Options{Texts: 3, Waiting: 1}, llm.Options{})
	for range 2 {
		status, got := ask(t, h.URL, "/v1/embeddings", `{"input": ["a", "b", "c", "d"]}`)
		require.Equal(t, 200, status, "%v", got)
		assert.Len(t, got["data"], 4)
	}
	status, got := ask(t, h.URL, "/v1/embeddings", `{"input": ["a", "b", "c", "d", "e"]}`)
	require.Equal(t, 400, status, "%v", got)
	assert.Contains(t, got["error"].(map[string]any)["message"], "input has 5 texts; at most 4 are taken at once")

	_, h = server(t, Options{Texts: 1, Waiting: math.MaxInt}, llm.Options{}) // without end
	status, got = ask(t, h.URL, "/v1/embeddings", `{"input": ["a", "b"]}`)
	require.Equal(t, 200, status, "%v", got)
}

// A text whose next token takes long to choose holds up nobody: others are answered meanwhile, prompts and all, and it goes on when the token is
// there. One that takes longer than it may is an error of its own, and a client that goes away frees its place.
func TestSlowGrammar(t *testing.T) {
	s, h := server(t, Options{Texts: 3, Choice: time.Minute}, llm.Options{Chunk: 4})
	release, asked := make(chan struct{}), make(chan struct{}, 1<<20)
	prompt := []int{1, 403, 407, 261, 378}
	slow := func(c context.Context, allow func(int) bool) *job {
		j, err := s.ask(c, prompt, llm.Generation{Tokens: 12, Sampler: &llm.Sampler{Allow: allow}})
		require.NoError(t, err)
		return j
	}
	held := slow(ctx, func(int) bool { asked <- struct{}{}; <-release; return true })
	gone, cancel := context.WithCancel(ctx)
	left := slow(gone, func(int) bool { asked <- struct{}{}; <-gone.Done(); return true })
	<-asked
	<-asked
	const body = `{"prompt": "Once upon a time there was", "max_tokens": 30, "temperature": 0}`
	status, first := ask(t, h.URL, "/v1/completions", body)
	require.Equal(t, 200, status, "%v", first)
	cancel()
	for range left.events {
	}
	require.Error(t, left.err)
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			status, got := ask(t, h.URL, "/v1/completions", body)
			assert.Equal(t, 200, status, "%v", got)
			assert.Equal(t, first["choices"], got["choices"])
		})
	}
	wait.Wait()
	close(release)
	text := func(j *job) (out string) {
		for e := range j.events {
			out += e.text
		}
		require.NoError(t, j.err)
		return out
	}
	assert.Equal(t, text(slow(ctx, nil)), text(held), "what it waited for changed nothing")

	_, h = server(t, Options{Texts: 2, Choice: 1}, llm.Options{})
	status, got := ask(t, h.URL, "/v1/completions", `{"prompt": "Once", "response_format": {"type": "json_object"}}`)
	assert.Equal(t, 400, status)
	assert.Contains(t, got["error"].(map[string]any)["message"], "takes more than 1ns for a token")
	status, _ = ask(t, h.URL, "/v1/completions", body)
	assert.Equal(t, 200, status)
}

// With Shift an answer goes on when there is no room left, and a conversation that is too long is shortened, all as with nobody beside them.
func TestShift(t *testing.T) {
	m := stories(t, llm.Options{Length: 48, Chunk: 8})
	m.Config.EOS = nil
	_, h := serving(t, m, Options{Shift: true, Tokens: 200, Texts: 3})
	talk := func(words, tokens int) string {
		return fmt.Sprintf(`{"messages": [{"role": "system", "content": "Tell me"}, {"role": "user", "content": "%s"}], "temperature": 0, "max_tokens": %d, "stream": true}`,
			strings.Repeat("a cat and a dog ", words), tokens)
	}
	alone := map[string]string{}
	for _, body := range []string{talk(1, 150), talk(20, 60), talk(1, 10)} {
		text, _, _, err := stream(h.URL, "/v1/chat/completions", body)
		require.NoError(t, err)
		alone[body] = text
	}
	assert.Greater(t, len(alone[talk(1, 150)]), 250)
	var wait sync.WaitGroup
	for range 2 {
		for body, want := range alone {
			wait.Go(func() {
				text, _, _, err := stream(h.URL, "/v1/chat/completions", body)
				assert.NoError(t, err)
				assert.Equal(t, want, text)
			})
		}
	}
	wait.Wait()
	status, got := ask(t, h.URL, "/v1/completions", `{"prompt": "`+strings.Repeat("word ", 60)+`", "max_tokens": 100, "temperature": 0}`)
	require.Equal(t, 200, status, "%v", got)
	assert.Greater(t, got["usage"].(map[string]any)["prompt_tokens"], 60.)
	status, got = ask(t, h.URL, "/v1/chat/completions", `{"messages": [{"role": "system", "content": "`+strings.Repeat("word ", 60)+`"}, {"role": "user", "content": "Hi"}]}`)
	assert.Equal(t, 400, status, "%v", got)
	assert.Contains(t, got["error"].(map[string]any)["message"], "before the first message of a user is too long")
}

// An answer takes memory as it is made: that it may be long as good as without end costs nothing.
func TestLongAnswer(t *testing.T) {
	m := stories(t, llm.Options{Length: 48})
	m.Config.EOS = nil
	_, h := serving(t, m, Options{Shift: true, Tokens: math.MaxInt})
	for _, tokens := range []int{1 << 40, math.MaxInt} {
		c, cancel := context.WithCancel(ctx)
		body := fmt.Sprintf(`{"prompt": "Once upon a time", "max_tokens": %d, "stream": true}`, tokens)
		r, err := http.NewRequestWithContext(c, "POST", h.URL+"/v1/completions", strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		_, err = io.CopyN(io.Discard, answer.Body, 20_000)
		assert.NoError(t, err)
		cancel()
		answer.Body.Close()
	}
	status, _ := ask(t, h.URL, "/v1/completions", `{"prompt": "Once", "max_tokens": 3}`)
	assert.Equal(t, 200, status)
}

// What cannot be answered is refused in words, with its status and the field that is to blame.
func TestRefused(t *testing.T) {
	_, h := server(t, Options{Name: "stories", Body: 4000}, llm.Options{Length: 40})
	user := `{"messages": [{"role": "user", "content": "Hi"}]`
	for _, c := range []struct {
		path, body string
		status     int
		param      any
		want       string
	}{
		{"completions", `{"prompt": "Hi", "model": "other"}`, 404, "model", `there is no model "other" here; there is "stories"`},
		{"completions", `{"prompt": "Hi"`, 400, nil, "no request in JSON"},
		{"completions", `{"prompt": "Hi"}{}`, 400, nil, "more than one"},
		{"completions", `{"prompt": "Hi"}}`, 400, nil, "more than one"},
		{"completions", `[]`, 400, nil, "no request in JSON: it is array, where an object belongs"},
		{"completions", ``, 400, nil, "no request in JSON: it is empty"},
		{"completions", `{"prompt": "Hi", "temperature": 1e400}`, 400, nil, "temperature is number 1e400, where a number of 64 bits belongs"},
		{"completions", `{"prompt": "Hi", "max_tokens": 1.5}`, 400, nil, "max_tokens is number 1.5, where an integer"},
		{"completions", `{"prompt": "Hi", "stream_options": {"include_usage": 1}}`, 400, nil, "stream_options.include_usage is number, where true or false"},
		{"completions", `{}`, 400, "prompt", "prompt is missing"},
		{"completions", `{"prompt": {}}`, 400, "prompt", "a text, a list of texts, or tokens"},
		{"completions", `{"prompt": [700]}`, 400, "prompt", "token 700, of a vocabulary of 512"},
		{"completions", `{"prompt": ["a", "b"]}`, 400, "prompt", "2 texts"},
		{"completions", `{"prompt": [[]]}`, 400, "prompt", "empty text"},
		{"completions", `{"prompt": "` + strings.Repeat("word ", 60) + `"}`, 400, "prompt", "there is room for 40"},
		{"completions", `{"prompt": [` + strings.Repeat("5,", 39) + `5]}`, 400, "messages", "the prompt has 40 tokens"},
		{"completions", `{"prompt": "` + strings.Repeat("a", 5000) + `"}`, 413, nil, "more than 4000 bytes"},
		{"completions", `{"prompt": "Hi", "max_tokens": 0}`, 400, "max_tokens", "1 at least"},
		{"completions", `{"prompt": "Hi", "temperature": -1}`, 400, "temperature", "temperature is -1"},
		{"completions", `{"prompt": "Hi", "top_p": 1.5}`, 400, "top_p", "from 0 to 1"},
		{"completions", `{"prompt": "Hi", "top_k": -2}`, 400, "top_k", "from 0 on"},
		{"completions", `{"prompt": "Hi", "stop": 5}`, 400, "stop", "a text or a list"},
		{"completions", `{"prompt": "Hi", "stop": [""]}`, 400, "stop", "1 to 256 bytes"},
		{"completions", `{"prompt": "Hi", "n": 2}`, 400, "n", "one answer"},
		{"completions", `{"prompt": "Hi", "echo": true}`, 400, "echo", "not known here"},
		{"completions", `{"prompt": "Hi", "logprobs": 3}`, 400, "logprobs", "not known here"},
		{"chat/completions", `{}`, 400, "messages", "no messages"},
		{"chat/completions", `{"messages": ["Hi"]}`, 400, "messages", "message 1: it is string, where an object belongs"},
		{"chat/completions", `{"messages": [{"content": "Hi"}]}`, 400, "messages", "no role"},
		{"chat/completions", `{"messages": [{"role": "tool", "content": "Hi"}]}`, 400, "messages", "no tools here"},
		{"chat/completions", `{"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}`, 400, "messages", "the model reads text"},
		{"chat/completions", user + `, "response_format": {"type": "xml"}}`, 400, "response_format", "text, json_object and json_schema are"},
		{"chat/completions", user + `, "response_format": {"type": "json_schema"}}`, 400, "response_format", "has no json_schema.schema"},
		{"chat/completions", user + `, "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"pattern": "a"}}}}`, 400, "response_format", "keyword \"pattern\" is not known"},
		{"completions", `{"prompt": "Hi", "grammar": "root ::= \"a"}`, 400, "grammar", "line 1, column 10: the literal is not closed"},
		{"completions", `{"prompt": "Hi", "grammar": "root ::= \"a\"", "response_format": {"type": "json_object"}}`, 400, "grammar", "not to both"},
		{"chat/completions", user + `, "presence_penalty": 1}`, 400, "presence_penalty", "not known here"},
		{"chat/completions", user + `, "chat_template_kwargs": 5}`, 400, "chat_template_kwargs", "an object"},
		{"chat/completions", user + `, "chat_template_kwargs": {"a": 1, "messages": []}}`, 400, "chat_template_kwargs", `the variable "messages" is given by other means`},
		{"chat/completions", user + `, "chat_template_kwargs": {"add_generation_prompt": false}}`, 400, "chat_template_kwargs", `"add_generation_prompt"`},
		{"chat/completions", user + `, "chat_template_kwargs": {"tools": null}}`, 400, "chat_template_kwargs", `"tools"`},
		{"chat/completions", user + `, "chat_template_kwargs": {"bos_token": "x"}}`, 400, "chat_template_kwargs", `"bos_token"`},
		{"chat/completions", user + `, "chat_template_kwargs": {"raise_exception": 1}}`, 400, "chat_template_kwargs", `"raise_exception"`},
		{"embeddings", `{"input": "a", "dimensions": 5}`, 400, "dimensions", "not known here"},
		{"embeddings", `{"input": []}`, 400, "input", "input is missing"},
		{"embeddings", `{"input": "a", "encoding_format": "int8"}`, 400, "encoding_format", "float and base64"},
		{"nothing", `{}`, 404, nil, "there is no POST /v1/nothing here"},
	} {
		status, got := ask(t, h.URL, "/v1/"+c.path, c.body)
		assert.Equal(t, c.status, status, "%s %.80s: %v", c.path, c.body, got)
		e, _ := got["error"].(map[string]any)
		if assert.NotNil(t, e, "%v", got) {
			assert.Contains(t, e["message"], c.want, "%s %.80s", c.path, c.body)
			assert.Equal(t, c.param, e["param"], "%s %.80s", c.path, c.body)
			assert.Equal(t, "invalid_request_error", e["type"])
		}
	}
	status, got := ask(t, h.URL, "/v1/chat/completions", user+`, "max_tokens": 1, "chat_template_kwargs": {"enable_thinking": false, "documents": []}}`)
	assert.Equal(t, 200, status, "%v", got)
	r, err := http.Get(h.URL + "/v1/completions")
	require.NoError(t, err)
	r.Body.Close()
	assert.Equal(t, 405, r.StatusCode)
	assert.Equal(t, "POST", r.Header.Get("Allow"))
	r, err = http.Post(h.URL+"/v1/completions", "text/plain", strings.NewReader(`{"prompt": "Hi"}`))
	require.NoError(t, err)
	r.Body.Close()
	assert.Equal(t, 415, r.StatusCode, "a page of elsewhere may send text without being asked")
	status, got = ask(t, h.URL, "/v1/completions", `{"prompt": "Hi", "max_tokens": 3, "repetition_penalty": 1e-300}`)
	assert.Equal(t, 200, status, "%v", got)
	status, got = ask(t, h.URL, "/v1/completions", `{"prompt": "Hi", "user": "x", "metadata": {"a": "b"}, "store": true}`)
	assert.Equal(t, 200, status, "what changes no answer is passed over: %v", got)
}

// A key is asked for, and the name of the host is looked at.
func TestAllowed(t *testing.T) {
	s, h := server(t, Options{Key: "secret", Hosts: []string{"127.0.0.1", "::1"}}, llm.Options{})
	get := func(path, key, host string) int {
		r, err := http.NewRequest("GET", h.URL+path, nil)
		require.NoError(t, err)
		if key != "" {
			r.Header.Set("Authorization", key)
		}
		if host != "" {
			r.Host = host
		}
		a, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		a.Body.Close()
		return a.StatusCode
	}
	assert.Equal(t, 401, get("/v1/models", "", ""))
	assert.Equal(t, 401, get("/v1/models", "Bearer wrong", ""))
	assert.Equal(t, 401, get("/v1/models", "secret", ""))
	assert.Equal(t, 200, get("/v1/models", "Bearer secret", ""))
	assert.Equal(t, 200, get("/v1/models/model", "Bearer secret", "[::1]:80"))
	assert.Equal(t, 404, get("/v1/models/org/other", "Bearer secret", ""))
	assert.Equal(t, 403, get("/v1/models", "Bearer secret", "elsewhere.example"))
	assert.Equal(t, 200, get("/health", "", ""))
	assert.Equal(t, 401, get("/metrics", "", ""))
	w := httptest.NewRecorder()
	s.metrics(w)
	for _, want := range []string{`weft_requests_total{path="/v1/models",status="401"} 3`, `weft_requests_total{path="/v1/models",status="403"} 1`, "weft_waiting 0",
		`weft_first_token_seconds_bucket{le="+Inf"} 0`} {
		assert.Contains(t, w.Body.String(), want)
	}
}

// Vectors are of length 1; those of base64 are the same; tokens and their text have the same.
func TestEmbeddings(t *testing.T) {
	_, h := server(t, Options{}, llm.Options{})
	read := func(body string) [][]float32 {
		status, got := ask(t, h.URL, "/v1/embeddings", body)
		require.Equal(t, 200, status, "%v", got)
		var out [][]float32
		for _, d := range got["data"].([]any) {
			var v []float32
			switch e := d.(map[string]any)["embedding"].(type) {
			case string:
				raw, err := base64.StdEncoding.DecodeString(e)
				require.NoError(t, err)
				for i := 0; i < len(raw); i += 4 {
					v = append(v, math.Float32frombits(uint32(raw[i])|uint32(raw[i+1])<<8|uint32(raw[i+2])<<16|uint32(raw[i+3])<<24))
				}
			case []any:
				for _, x := range e {
					v = append(v, float32(x.(float64)))
				}
			}
			require.Len(t, v, 64)
			out = append(out, v)
		}
		return out
	}
	a := read(`{"input": ["Once upon a time", "A cat"]}`)
	b := read(`{"input": ["Once upon a time", "A cat"], "encoding_format": "base64"}`)
	assert.Equal(t, a, b)
	assert.NotEqual(t, a[0], a[1])
	assert.Equal(t, [][]float32{a[1]}, read(`{"input": "A cat"}`))
}

// FuzzRequest: whatever the body, there is an answer, and the server goes on.
func FuzzRequest(f *testing.F) {
	if testing.Short() {
		f.Skip("asks once for each request that was found before, one after the other")
	}
	s, err := New(ctx, stories(f, llm.Options{Length: 16}), Options{})
	require.NoError(f, err)
	f.Cleanup(s.Close)
	for _, body := range []string{`{"prompt": "Hi", "max_tokens": 2}`, `{"prompt": "Hi", "max_tokens": 2, "grammar": "root ::= [^b]+"}`, `{"messages": [{"role": "user", "content": "Hi"}], "stop": ["a"], "stream": true}`, `{"input": [[1, 2], [3]]}`} {
		f.Add(0, []byte(body))
		f.Add(1, []byte(body))
		f.Add(2, []byte(body))
	}
	paths := []string{"/v1/completions", "/v1/chat/completions", "/v1/embeddings"}
	f.Fuzz(func(t *testing.T, path int, body []byte) {
		r := httptest.NewRequest("POST", paths[uint(path)%3], bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		require.Contains(t, []int{200, 400, 404, 413}, w.Code, "%s", w.Body.String()+strconv.Quote(string(body)))
	})
}
