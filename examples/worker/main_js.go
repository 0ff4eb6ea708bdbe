package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"syscall/js"

	"github.com/syumai/workers"
)

// classes are the digits.
const classes = 10

// What worker.mjs offers beside package workers takes numbers and places in this program's memory: such a call takes less than a microsecond, and one through
// package syscall/js that gives an object 4 to 12. A request has a number there, and is given to package workers with it in the place of its body.

// size is how many bytes the body of a request has.
//
//go:wasmimport worker size
func size(request int32) int32

// kindSize is how many bytes its Content-Type has.
//
//go:wasmimport worker kindSize
func kindSize(request int32) int32

// take copies a request's body and its Content-Type.
//
//go:wasmimport worker take
func take(request int32, body, kind *byte)

// start has the player run model.run('predict', { image }), and gives the run a number.
//
//go:wasmimport worker start
func start(picture *[side * side]byte) (run int32)

// finished gives a run that has come to its end, and what it gave: 0 for none, a negative number for one that failed, of which the log has the reason.
//
//go:wasmimport worker finished
func finished(probabilities *[classes]float32) (run int32)

// main serves all requests: worker.mjs starts one instance of this program.
func main() {
	var runs runs
	js.Global().Get("context").Set("wake", js.FuncOf(func(js.Value, []js.Value) any {
		runs.wake()
		return nil
	}))
	workers.ServeNonBlock(whole(handler(runs.predict)))
	workers.Ready()
	select {}
}

// runs are those that have begun, by number. Programs in WebAssembly have one thread, and nothing comes between start and what follows it.
type runs map[int32]chan []float32

func (r *runs) predict(picture []byte) ([]float32, error) {
	if *r == nil {
		*r = runs{}
	}
	done := make(chan []float32, 1)
	(*r)[start((*[side * side]byte)(picture))] = done
	if p := <-done; p != nil {
		return p, nil
	}
	return nil, errors.New("a run of the model has failed")
}

// wake tells those who wait for runs that have come to their ends.
func (r *runs) wake() {
	for {
		var p [classes]float32
		n := finished(&p)
		if n == 0 {
			return
		}
		var result []float32
		if n > 0 {
			result = p[:]
		}
		n = max(n, -n)
		(*r)[n] <- result
		delete(*r, n)
	}
}

// whole takes and gives bodies in one piece: worker.mjs has read the request's, and gets the answer's. Package workers would send an answer as a
// stream, and takes the end of the first stream for the end of the program, since it is made for an instance a request.
func whole(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := int32(r.Body.(interface{ GetRawJSBody() js.Value }).GetRawJSBody().Int())
		body, kind := make([]byte, size(given)+1), make([]byte, kindSize(given)+1) // there is always a first byte
		take(given, &body[0], &kind[0])
		r.Body = io.NopCloser(bytes.NewReader(body[:len(body)-1]))
		r.Header.Set("Content-Type", string(kind[:len(kind)-1]))
		a := &answer{ResponseWriter: w}
		defer func() {
			if p := recover(); p != nil { // or all requests would end with this one
				log.Print("panic: ", p)
				a.body = []byte(fmt.Sprintln("This request could not be answered."))
				w.WriteHeader(http.StatusInternalServerError)
			}
			w.(interface{ WriteRawJSBody(js.Value) }).WriteRawJSBody(js.ValueOf(string(a.body)))
		}()
		h.ServeHTTP(a, r)
	})
}

// answer keeps what is written.
type answer struct {
	http.ResponseWriter
	body []byte
}

func (a *answer) Write(b []byte) (int, error) {
	a.body = append(a.body, b...)
	return len(b), nil
}
