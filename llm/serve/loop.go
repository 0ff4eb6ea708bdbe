package serve

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/weft-ml/weft/llm"
)

// job is one text that is continued, or embedded.
type job struct {
	ctx    context.Context
	prompt []int
	text   []int // what of it is read: all, or what Shift leaves
	embed  bool
	reply  *llm.Reply
	held   bool // by what may take long to ask
	shift  bool // when there is no room, of which the first keep tokens stay
	keep   int
	came   time.Time
	vector []float32
	err    error // set before the events end

	mu    sync.Mutex
	made  []event       // that were not taken yet: as many as come, so that the loop waits for no client
	ended bool          // no more come
	more  chan struct{} // has room for one: there may be something to take
}

// newJob is a job of one text, of which all is read.
func newJob(ctx context.Context, prompt []int) *job {
	return &job{ctx: ctx, prompt: prompt, text: prompt, more: make(chan struct{}, 1), came: time.Now()}
}

// event is a piece of an answer.
type event struct {
	text string
}

// give has the client take a piece when it comes to it.
func (j *job) give(e event) {
	j.mu.Lock()
	j.made = append(j.made, e)
	j.mu.Unlock()
	j.poke()
}

// end tells the client that no more comes.
func (j *job) end(err error) {
	j.mu.Lock()
	j.err, j.ended = err, true
	j.mu.Unlock()
	j.poke()
}

func (j *job) poke() {
	select {
	case j.more <- struct{}{}:
	default:
	}
}

// events are the pieces of an answer as they come, until it ends. One client takes them.
func (j *job) events(yield func(event) bool) {
	for {
		j.mu.Lock()
		made, ended := j.made, j.ended
		j.made = nil
		j.mu.Unlock()
		for _, e := range made {
			if !yield(e) {
				return
			}
		}
		if ended {
			return
		}
		<-j.more
	}
}

// slot is a text of the batch and what it is used for.
type slot struct {
	session *llm.Session
	job     *job
	next    []int     // tokens that are to be read before another is chosen
	chosen  chan pick // nil: no token is being chosen
	late    bool      // that it was waited for
	kept    []int     // tokens at the beginning of the text that were read in whole chunks, and whose keys are still there
}

type slots struct {
	batch *llm.Batch
	all   []*slot
	turn  int           // whose prompt is read next
	took  time.Duration // the last step
}

func newSlots(b *llm.Batch) *slots {
	s := &slots{batch: b, took: grace}
	for i := range b.Size() {
		s.all = append(s.all, &slot{session: b.Session(i)})
	}
	return s
}

// loop computes until the server is closed: a chunk of a prompt, if one is to be read, then a token of every text that is being made.
func (s *Server) loop(sl *slots) {
	defer close(s.done)
	for {
		s.leave(sl)
		s.admit(sl)
		switch {
		case s.closed.Err() != nil:
			s.stop(sl, errClosed)
			return
		case !sl.busy():
			select {
			case <-s.wake:
			case <-s.closed.Done():
			}
			continue
		}
		read, err := s.readSome(sl)
		made := false
		if err == nil {
			made, err = s.step(sl)
		}
		if err == nil && !read && !made { // all that there is to do waits for tokens that are being chosen
			select {
			case <-s.wake:
			case <-s.closed.Done():
			}
		}
		if err != nil && s.closed.Err() == nil {
			s.stop(sl, fmt.Errorf("the model failed: %w", err))
			return
		}
	}
}

func (sl *slots) busy() bool {
	for _, x := range sl.all {
		if x.job != nil {
			return true
		}
	}
	return false
}

// stop ends all jobs and takes no more.
func (s *Server) stop(sl *slots, err error) {
	s.mu.Lock()
	waiting := s.waiting
	s.waiting, s.stopped = nil, err
	s.mu.Unlock()
	for _, j := range waiting {
		j.end(err)
	}
	for _, x := range sl.all {
		if x.job != nil {
			s.finish(x, err)
		}
	}
}

// admit gives free places to jobs: the place whose text begins as the job's does, if there is one.
func (s *Server) admit(sl *slots) {
	for {
		free := false
		for _, x := range sl.all {
			free = free || x.job == nil
		}
		if !free {
			return
		}
		j := s.next()
		if j == nil {
			return
		}
		var best *slot
		most := -1
		for _, x := range sl.all {
			if n := shared(x.kept, j.text); x.job == nil && n > most {
				best, most = x, n
			}
		}
		best.take(j, most)
		s.figures.waited(time.Since(j.came))
	}
}

// shared is how many tokens two texts begin with in common.
func shared(a, b []int) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// take begins a job. Of what is there in common whole chunks are kept, so that an answer does not depend on who asked before: chunks are
// read from the same positions on either way. The last token is read again, as its logits are asked for.
func (x *slot) take(j *job, common int) {
	keep := 0
	if !j.embed {
		chunk := x.session.Chunk()
		keep = min(common, len(j.text)-1) / chunk * chunk
	}
	if keep == 0 || x.session.Back(keep) != nil {
		x.session.Reset()
		keep = 0
	}
	x.job, x.next, x.kept = j, j.text[keep:], x.kept[:keep]
}

// leave ends jobs whose clients went away.
func (s *Server) leave(sl *slots) {
	for _, x := range sl.all {
		if x.job != nil && x.job.ctx.Err() != nil {
			s.figures.gone.Add(1)
			s.finish(x, x.job.ctx.Err())
		}
	}
}

func (s *Server) finish(x *slot, err error) {
	s.mu.Lock()
	s.taken--
	s.mu.Unlock()
	x.job.end(err)
	if x.job.embed {
		x.kept = nil
	}
	x.job, x.chosen, x.late = nil, nil, false
}

// readSome reads some of the prompt of one text, if there is one to read.
func (s *Server) readSome(sl *slots) (read bool, err error) {
	for range sl.all {
		x := sl.all[sl.turn%len(sl.all)]
		sl.turn++
		j := x.job
		if j == nil || len(x.next) == 0 {
			continue
		}
		if j.embed {
			v, err := x.session.Embed(s.closed, j.text)
			j.vector = v
			s.figures.read.Add(int64(len(j.text)))
			s.finish(x, err)
			return true, nil // an error is of this text
		}
		at := x.session.Position()
		n, err := x.session.Some(s.closed, x.next)
		if err != nil {
			return false, err
		}
		if n == x.session.Chunk() && at == len(x.kept) {
			x.kept = append(x.kept, x.next[:n]...)
		}
		x.next = x.next[n:]
		s.figures.read.Add(int64(n))
		return true, nil
	}
	return false, nil
}

// shift makes room for a token: what is left of the text is read again, a chunk at a time as prompts are.
func (x *slot) shift(token int) (err error) {
	x.next, err = x.session.Shift([]int{token}, x.job.keep)
	x.kept = x.kept[:min(len(x.kept), x.session.Position())]
	return err
}

// pick is a token that was chosen, and the text that it adds.
type pick struct {
	text  string
	token int
	err   error
}

// grace is how long a step waits at most for tokens that schemas and grammars hold, and no longer than the last step took. One that is not chosen by then is of a later step, for which
// nobody waits any more.
const grace = 5 * time.Millisecond

// choose has the next token of a text be chosen beside the loop. It reads the reply and these logits, which nothing else does until then.
func (s *Server) choose(x *slot) {
	j, logits, done := x.job, x.session.Logits(), make(chan pick, 1)
	x.chosen, x.late = done, false
	go func() {
		ctx, cancel := context.WithTimeout(j.ctx, s.options.Choice)
		defer cancel()
		var c pick
		if c.text, c.token, c.err = j.reply.Choose(ctx, logits); c.err != nil && ctx.Err() != nil && j.ctx.Err() == nil {
			c.err = refuse(http.StatusBadRequest, "", "the schema or grammar of the answer takes more than %v for a token", s.options.Choice)
		}
		done <- c
		s.poke()
	}()
}

// choices are the tokens of texts whose prompt is read. Those that nothing holds are waited for, others for a while.
func (s *Server) choices(sl *slots) map[*slot]pick {
	out := map[*slot]pick{}
	for _, x := range sl.all {
		if x.job != nil && len(x.next) == 0 && x.chosen == nil {
			s.choose(x)
		}
	}
	for _, x := range sl.all {
		if x.chosen != nil && !x.job.held {
			out[x] = <-x.chosen
		}
	}
	over, cancel := context.WithTimeout(context.Background(), min(grace, sl.took))
	defer cancel()
	for _, x := range sl.all {
		if x.chosen == nil || !x.job.held {
			continue
		}
		if !x.late {
			select {
			case c := <-x.chosen:
				out[x] = c
				continue
			case <-over.Done():
				x.late = true
			}
		}
		select {
		case c := <-x.chosen:
			out[x] = c
		default:
		}
	}
	for x := range out {
		x.chosen = nil
	}
	return out
}

// step takes the tokens that were chosen, and reads those that another is to follow. It says whether there were any.
func (s *Server) step(sl *slots) (made bool, err error) {
	var turns []llm.Turn
	chosen := s.choices(sl)
	for _, x := range sl.all {
		c, ok := chosen[x]
		if !ok {
			continue
		}
		if turn := s.took(x, c); turn != nil {
			turns = append(turns, *turn)
		}
	}
	if len(turns) == 0 {
		return len(chosen) > 0, nil
	}
	s.figures.steps.Add(1)
	begin := time.Now()
	err = sl.batch.Step(s.closed, turns)
	sl.took = time.Since(begin)
	return true, err
}

// took tells a client of a token, and says whether the token is to be read; of a text that is full what is left of it is, with the token.
func (s *Server) took(x *slot, c pick) *llm.Turn {
	r, full := x.job.reply, x.session.Room() == 0
	if c.err != nil {
		if x.job.ctx.Err() != nil {
			s.figures.gone.Add(1)
		}
		s.finish(x, c.err)
		return nil
	}
	if r.Finish == "" && full && !x.job.shift {
		c.text += r.Cut()
	}
	s.figures.made.Add(1)
	if r.Tokens == 1 {
		s.figures.first(time.Since(x.job.came))
	}
	if c.text != "" {
		x.job.give(event{c.text})
	}
	switch {
	case r.Finish != "":
		s.finish(x, nil)
	case full:
		if err := x.shift(c.token); err != nil {
			s.finish(x, err)
		}
	default:
		return &llm.Turn{Session: x.session, Token: c.token}
	}
	return nil
}
