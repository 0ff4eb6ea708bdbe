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

// main serves all requests: worker.mjs starts one instance of this program, and says where the model is.
func main() {
	model := js.Global().Get("context").Get("model")
	workers.ServeNonBlock(whole(handler(func(picture []byte) ([]float32, error) { return run(model, picture) })))
	workers.Ready()
	select {}
}

var array = js.Global().Get("Uint8Array")

func toJS(b []byte) js.Value {
	out := array.New(len(b))
	js.CopyBytesToJS(out, b)
	return out
}

// run asks the player for model.run('predict', { image }).
func run(model js.Value, picture []byte) ([]float32, error) {
	results, err := await(model.Call("run", "predict", map[string]any{"image": toJS(picture)}))
	if err != nil {
		return nil, err
	}
	data := results.Get("probabilities").Get("data")
	out := make([]float32, data.Length())
	for i := range out {
		out[i] = float32(data.Index(i).Float())
	}
	return out, nil
}

// await waits for a promise.
func await(promise js.Value) (js.Value, error) {
	var value js.Value
	done := make(chan error, 1)
	then := js.FuncOf(func(_ js.Value, args []js.Value) any {
		value = args[0]
		done <- nil
		return nil
	})
	defer then.Release()
	failed := js.FuncOf(func(_ js.Value, args []js.Value) any {
		done <- errors.New(args[0].Get("message").String())
		return nil
	})
	defer failed.Release()
	promise.Call("then", then, failed)
	err := <-done // before value is looked at
	return value, err
}

// whole takes and gives bodies in one piece: worker.mjs has read the request's, and gets the answer's. Package workers would send an answer as a
// stream, and takes the end of the first stream for the end of the program, since it is made for an instance a request.
func whole(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, ok := r.Body.(interface{ GetRawJSBody() js.Value }); ok {
			given := body.GetRawJSBody()
			b := make([]byte, given.Length())
			js.CopyBytesToGo(b, given)
			r.Body = io.NopCloser(bytes.NewReader(b))
		}
		a := &answer{ResponseWriter: w}
		defer func() {
			if p := recover(); p != nil { // or all requests would end with this one
				log.Print("panic: ", p)
				a.body = []byte(fmt.Sprintln("This request could not be answered."))
				w.WriteHeader(http.StatusInternalServerError)
			}
			w.(interface{ WriteRawJSBody(js.Value) }).WriteRawJSBody(toJS(a.body))
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
