// Command worker is the program of a Cloudflare Worker that reads digits: a picture of 28 × 28 comes in, probabilities go out. The network is
// a folder that weft export wrote; its player, which worker.mjs opens, runs it, and this program knows HTTP and pictures.
//
//	sh build.sh && npx wrangler dev
//	curl --data-binary @seven.png -H 'Content-Type: image/png' http://localhost:8787/predict
//	{"digit":7,"probabilities":[…]}
package main

import (
	"encoding/json"
	"errors"
	"io"
	"log"
	"mime"
	"net/http"
)

// limit is how many bytes a body has at most; worker.mjs reads one more.
const limit = 64 << 10

// predictor gives the probabilities of the ten digits for a picture of side rows of side bytes, white on black.
type predictor func(picture []byte) ([]float32, error)

// prediction is what an answer says.
type prediction struct {
	Digit         int       `json:"digit"`
	Probabilities []float32 `json:"probabilities"`
}

// handler answers POST /predict.
func handler(predict predictor) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "There is nothing here; POST a picture to /predict.", http.StatusNotFound)
	})
	mux.HandleFunc("/predict", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "POST a picture, as image/png or application/json.", http.StatusMethodNotAllowed)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
		if err != nil {
			status := http.StatusBadRequest
			if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
				status = http.StatusRequestEntityTooLarge
			}
			http.Error(w, "The body cannot be read: "+err.Error(), status)
			return
		}
		kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		read, ok := readers[kind]
		if !ok {
			http.Error(w, "Say what the picture is: Content-Type image/png or application/json.", http.StatusUnsupportedMediaType)
			return
		}
		picture, err := read(body)
		if err != nil {
			http.Error(w, "This is no picture of a digit: "+err.Error(), http.StatusBadRequest)
			return
		}
		p, err := predict(picture)
		var answer []byte
		if err == nil {
			answer, err = json.Marshal(prediction{largest(p), p}) // which fails where a number is none
		}
		if err != nil {
			log.Print(err)
			http.Error(w, "The network could not be run.", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if _, err := w.Write(append(answer, '\n')); err != nil {
			log.Print(err)
		}
	})
	return mux
}

func largest(p []float32) (at int) {
	for i, v := range p {
		if v > p[at] {
			at = i
		}
	}
	return at
}
