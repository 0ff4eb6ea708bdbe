package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
	"github.com/weft-ml/weft/uop"
	"github.com/weft-ml/weft/wasm/wire"
)

// A batch is a row of requests, each a list: its number, its name, the numbers of the tensors that it makes, and
// its arguments. Requests are carried out in order. Operations on tensors have no answer: one that fails leaves
// its failure in the tensors that it should have made, and whoever asks for their values gets it. Calls are
// answered under their number. A tensor that could not be changed in place is again what it was when its failure has been told: a page goes on
// from there, as a program in Go does from a panic.

// server is the engine as a page sees it: tensors by number, and what was made of them.
type server struct {
	// send gives an answer for the page; number 0 is the report on a batch.
	send func(number int, value any, err error)
	// flush posts the answers that were given.
	flush func()
	// progress posts news of a call that goes on.
	progress func(number int, value any)

	turn       sync.Mutex // held while tensors are touched: long calls let others in between their steps
	engine     *engine.Engine
	tensors    map[wire.Ref]any  // *tensor.Tensor or *failure
	sole       map[wire.Ref]bool // tensors with memory of their own, of which nothing was made
	plays      map[wire.Ref]*recorded
	nets       map[wire.Ref]network
	kernels    []*tensor.Kernel // whose bodies are being carried out, the innermost last
	generators map[wire.Ref]*tensor.Generator
	profile    *profiling // that is being taken, or nil
	load       load
	ran        []ran  // by the last batch
	later      func() // makes ready what the next batch is likely to ask for; nil: nothing. It is called when the answers to this one are on their way
}

// network is what an engine trains for a page by itself. Not every engine can.
type network interface{ end() }

func newServer() *server {
	return &server{tensors: map[wire.Ref]any{}, sole: map[wire.Ref]bool{}, plays: map[wire.Ref]*recorded{}, nets: map[wire.Ref]network{}, generators: map[wire.Ref]*tensor.Generator{}}
}

// failure is why a tensor does not exist, and the number of the request that should have made it.
type failure struct {
	number int
	err    error
	before map[wire.Ref]*tensor.Tensor // what tensors held that should have been changed in place
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// request is one request of a batch.
type request struct {
	number int
	name   string
	outs   []wire.Ref
	args   []any
}

// requests reads a batch.
func requests(batch []byte) ([]request, error) {
	var out []request
	r := wire.NewReader(batch)
	for r.More() {
		list, ok := r.Value().([]any)
		if r.Err() != nil {
			break
		}
		q, fine := parse(list)
		if !ok || !fine {
			return nil, fmt.Errorf("weft: request %d of a batch has another form than this engine expects; are weft.js and weft.wasm of one build?", len(out))
		}
		out = append(out, q)
	}
	return out, r.Err()
}

func parse(list []any) (q request, ok bool) {
	if len(list) < 3 {
		return q, false
	}
	number, isNumber := list[0].(float64)
	name, isText := list[1].(string)
	outs, isList := list[2].([]any)
	q = request{number: int(number), name: name, args: list[3:]}
	for _, o := range outs {
		ref, ok := o.(wire.Ref)
		if !ok {
			return q, false
		}
		q.outs = append(q.outs, ref)
	}
	return q, isNumber && isText && isList
}

// handle carries out a batch and reports the operations in it.
func (s *server) handle(ctx context.Context, batch []byte) {
	list, err := requests(batch)
	if err != nil {
		s.send(0, nil, err)
		return
	}
	s.ran = s.ran[:0]
	last, failed := 0, []any{}
	defer s.load.begin()()
	defer s.ahead()
	defer s.flush()
	for i, q := range list {
		if f, ok := calls[q.name]; ok {
			s.call(ctx, f, q)
			if i+1 < len(list) && list[i+1].name != "data" { // which is mostly read at once, and then one message is enough
				s.flush()
			}
			continue
		}
		last = max(last, q.number)
		s.turn.Lock()
		err := s.operate(ctx, q)
		s.turn.Unlock()
		if err != nil {
			failed = append(failed, err.number)
		}
	}
	if last == 0 { // the answers tell of calls
		return
	}
	s.send(0, wire.Record{{Name: "done", Value: last}, {Name: "failed", Value: failed}}, nil)
}

// ahead does now what would have to be done for the next batch.
func (s *server) ahead() {
	if f := s.later; f != nil {
		s.later = nil
		s.turn.Lock()
		defer s.turn.Unlock()
		f()
	}
}

// operate carries out an operation on tensors.
func (s *server) operate(ctx context.Context, q request) *failure {
	made, err := s.apply(ctx, q)
	if err == nil {
		for i, t := range made {
			s.tensors[q.outs[i]] = t
		}
		return nil
	}
	f := &failure{number: q.number, err: err}
	known := errors.As(err, &f) // an operand's, which is told already
	for _, o := range q.outs {
		switch was := s.tensors[o].(type) {
		case *tensor.Tensor:
			if f.before == nil {
				f.before = map[wire.Ref]*tensor.Tensor{}
			}
			f.before[o] = was
		case *failure:
			if was.before[o] != nil { // which only this one knows
				continue
			}
		}
		s.tensors[o] = f
	}
	if known {
		return nil
	}
	return f
}

// restore gives the tensors that a failure kept from being changed what they held before.
func (s *server) restore(err error) {
	for f := (*failure)(nil); errors.As(err, &f); err = f.err {
		for r, t := range f.before {
			if s.tensors[r] == any(f) {
				s.tensors[r] = t
			}
		}
		f.before = nil
	}
}

// apply gives the tensors that an operation makes, as many as were asked for.
func (s *server) apply(ctx context.Context, q request) (made []*tensor.Tensor, err error) {
	op, ok := operations[q.name]
	if !ok {
		return nil, tell(q.name, errors.New("there is no such operation; are weft.js and weft.wasm of one build?"))
	}
	err = attempt(q.name, func() { made = op.do(&call{server: s, ctx: ctx, name: q.name, args: q.args}) })
	if err == nil && len(made) < len(q.outs) {
		err = tell(q.name, fmt.Errorf("gives %d tensors, not %d", len(made), len(q.outs)))
	}
	if err != nil {
		return nil, err
	}
	for _, t := range made {
		if e := t.Engine(); e != nil && e.Several() && t.Node().Origin() == nil { // see shard.CutError
			t.Node().Mark(&uop.Origin{Method: q.name})
		}
	}
	return made[:len(q.outs)], nil
}

// call carries out a call: at once, or beside what follows where it takes long.
func (s *server) call(ctx context.Context, f procedure, q request) {
	run := func() {
		var value any
		name := ""  // the page knows by which method it asked
		if f.lazy { // but may hear of this when it asks for something else
			name = q.name
		}
		err := attempt(name, func() {
			var failed error
			if value, failed = f.run(ctx, &call{server: s, ctx: ctx, name: q.name, answer: q.number, outs: q.outs, args: q.args}); failed != nil {
				panic(raised{failed})
			}
		})
		if err != nil && f.lazy {
			for _, o := range q.outs {
				s.tensors[o] = &failure{number: q.number, err: err}
			}
		}
		if !f.silent || err != nil { // which is a mistake of the page's scripts or of the engine
			s.send(q.number, value, err)
		}
		s.restore(err)
	}
	if f.long {
		s.load.under.Add(1)
		go func() {
			defer s.load.under.Add(-1)
			run()
			s.flush()
		}()
		return
	}
	s.turn.Lock()
	defer s.turn.Unlock()
	run()
}

// raised carries an error through attempt.
type raised struct{ error }

// attempt runs f, which is for the method of that name, and gives back what it panicked with, in a page's words. A broken
// invariant is told as well: the page should hear of it rather than wait for ever.
func attempt(name string, f func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case raised:
			err = p.error
		case error:
			err = p
		default:
			err = fmt.Errorf("%v", p)
		}
		err = tell(name, err)
	}()
	f()
	return nil
}

// describeError is an error for the page: its text, the method that it is of where the page does not know that itself, and the
// number of the request that it comes from.
func describeError(err error) wire.Record {
	var t *told
	if !errors.As(err, &t) {
		t = &told{text: plain(err.Error())}
	}
	r := wire.Record{{Name: "message", Value: t.text}}
	if t.name != "" {
		r = append(r, wire.Field{Name: "name", Value: t.name})
	}
	var f *failure
	if errors.As(err, &f) {
		r = append(r, wire.Field{Name: "number", Value: f.number})
	}
	return r
}
