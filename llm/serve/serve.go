// Package serve answers for a language model over HTTP in the protocol of chat completions, completions and embeddings that editors and
// libraries speak (OpenAI's, of 2024), with answers that come as they are made, a bound on everything that a client may ask for, and figures
// for Prometheus.
//
// It knows models and conversations, and refuses to know weights, tensors and where it listens.
//
//	s, err := serve.New(ctx, model, serve.Options{Name: "stories"})
//	defer s.Close()
//	http.ListenAndServe("127.0.0.1:8080", s)
package serve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/weft-ml/weft/llm"
)

// Options are the options of New; each number's 0 is what its comment says.
type Options struct {
	// Name is what the model is called; "": "model".
	Name string
	// Texts is how many requests are answered at the same time; 0: 4.
	Texts int
	// Waiting is how many more may wait; 0: 128. What comes then is refused with status 429.
	Waiting int
	// Tokens caps what one answer may have; 0: the room that the model has.
	Tokens int
	// Shift has answers go on, and conversations be shortened, when there is no room left: what stands before the first word of a user stays,
	// the older half of the rest is forgotten. Without it such an answer ends, and such a conversation is refused.
	Shift bool
	// Choice caps the time in which a token is chosen that a schema or a grammar holds; 0: 10 s. An answer that takes longer is an error.
	Choice time.Duration
	// Body caps the bytes of a request; 0: 4 MiB.
	Body int64
	// Key is what requests have to bring as a bearer token; "": none.
	Key string
	// Hosts are the names under which the server may be asked, against pages that lead their name to this machine; nil: any.
	Hosts []string
}

// Server answers requests. It is an http.Handler.
type Server struct {
	model   *llm.Model
	options Options
	mux     http.ServeMux
	begin   time.Time
	figures figures

	wake    chan struct{} // there may be something to do
	closing context.CancelFunc
	closed  context.Context
	done    chan struct{} // the loop has ended

	mu      sync.Mutex
	waiting []*job
	taken   int   // places, by jobs that wait no more
	stopped error // why no more requests are taken
}

// New begins to answer for a model.
func New(ctx context.Context, m *llm.Model, o Options) (*Server, error) {
	if o.Texts < 0 || o.Waiting < 0 || o.Tokens < 0 || o.Body < 0 || o.Choice < 0 {
		return nil, errors.New("serve: a number of the options is negative")
	}
	set := func(n *int, usual int) {
		if *n == 0 {
			*n = usual
		}
	}
	set(&o.Texts, 4)
	set(&o.Waiting, 128)
	set(&o.Tokens, m.Config.Length)
	if o.Body == 0 {
		o.Body = 4 << 20
	}
	if o.Choice == 0 {
		o.Choice = 10 * time.Second
	}
	if o.Name == "" {
		o.Name = "model"
	}
	if m.Tokenizer == nil {
		return nil, errors.New("serve: the model has no tokenizer")
	}
	b, err := m.NewBatch(ctx, o.Texts)
	if err != nil {
		return nil, err
	}
	if err := warm(ctx, b); err != nil {
		return nil, err
	}
	s := &Server{model: m, options: o, begin: time.Now(), wake: make(chan struct{}, 1), done: make(chan struct{})}
	s.closed, s.closing = context.WithCancel(context.Background())
	s.figures.begin()
	s.routes()
	go s.loop(newSlots(b))
	return s, nil
}

// warm has the plans of a batch compiled before the first request comes.
func warm(ctx context.Context, b *llm.Batch) error {
	s := b.Session(0)
	for _, n := range []int{1, s.Chunk()} {
		s.Reset()
		if _, err := s.Feed(ctx, make([]int, n)...); err != nil {
			return err
		}
	}
	s.Reset()
	return nil
}

// Close ends answers that are under way, and waits until the model is at rest.
func (s *Server) Close() {
	s.closing()
	<-s.done
}

var errClosed = errors.New("the server is closing")

// refusal is a request that is not answered, with its status.
type refusal struct {
	status int
	param  string
	text   string
}

func (r *refusal) Error() string { return r.text }

func refuse(status int, param, format string, args ...any) error {
	return &refusal{status, param, fmt.Sprintf(format, args...)}
}

// put has a job wait for a place.
func (s *Server) put(jobs ...*job) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopped != nil:
		return refuse(http.StatusServiceUnavailable, "", "%v", s.stopped)
	case s.closed.Err() != nil:
		return refuse(http.StatusServiceUnavailable, "", "%v", errClosed)
	case s.taken+len(s.waiting)+len(jobs) > s.places():
		return refuse(http.StatusTooManyRequests, "", "%d requests are answered and %d wait already; try again later", s.taken, len(s.waiting))
	}
	s.waiting = append(s.waiting, jobs...)
	s.poke()
	return nil
}

// places is how many jobs there may be at a time: those that are answered and those that wait.
func (s *Server) places() int {
	return s.options.Texts + min(s.options.Waiting, math.MaxInt-s.options.Texts)
}

func (s *Server) poke() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// next takes a waiting job whose client is still there.
func (s *Server) next() *job {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.waiting) > 0 {
		j := s.waiting[0]
		s.waiting = s.waiting[1:]
		if j.ctx.Err() == nil {
			s.taken++
			return j
		}
		j.end(j.ctx.Err())
		s.figures.gone.Add(1)
	}
	return nil
}

func (s *Server) queued() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting)
}
