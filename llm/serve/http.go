package serve

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// routes says who answers what.
func (s *Server) routes() {
	s.mux.HandleFunc("POST /v1/chat/completions", s.answer(s.chatCompletions))
	s.mux.HandleFunc("POST /v1/completions", s.answer(s.completions))
	s.mux.HandleFunc("POST /v1/embeddings", s.answer(s.embeddings))
	s.mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, r *http.Request) {
		reply(w, http.StatusOK, map[string]any{"object": "list", "data": []any{s.about()}})
	})
	s.mux.HandleFunc("GET /v1/models/{name...}", func(w http.ResponseWriter, r *http.Request) {
		if name := r.PathValue("name"); name != s.options.Name {
			fail(w, s.unknownModel(name))
			return
		}
		reply(w, http.StatusOK, s.about())
	})
	s.mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		err := s.stopped
		s.mu.Unlock()
		if err != nil {
			reply(w, http.StatusServiceUnavailable, map[string]any{"status": "error", "error": err.Error()})
			return
		}
		reply(w, http.StatusOK, map[string]any{"status": "ok"})
	})
	s.mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		s.metrics(w)
	})
}

func (s *Server) about() map[string]any {
	return map[string]any{"id": s.options.Name, "object": "model", "created": s.begin.Unix(), "owned_by": "weft"}
}

func (s *Server) unknownModel(name string) error {
	return refuse(http.StatusNotFound, "model", "there is no model %.64q here; there is %q", name, s.options.Name)
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &counted{ResponseWriter: w, status: http.StatusOK}
	_, pattern := s.mux.Handler(r)
	switch err := s.allowed(r); {
	case err != nil:
		fail(c, err)
	case pattern == "":
		s.unknownPath(c, r)
	default:
		s.mux.ServeHTTP(c, r)
	}
	_, path, _ := strings.Cut(pattern, " ")
	s.figures.answered(path, c.status)
}

// unknownPath tells a wrong path from a wrong method.
func (s *Server) unknownPath(w http.ResponseWriter, r *http.Request) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		other := r.Clone(r.Context())
		other.Method = method
		if _, pattern := s.mux.Handler(other); pattern != "" {
			w.Header().Set("Allow", method)
			fail(w, refuse(http.StatusMethodNotAllowed, "", "%s takes %s, not %.16s", r.URL.Path, method, r.Method))
			return
		}
	}
	fail(w, refuse(http.StatusNotFound, "", "there is no %s %.128s here", r.Method, r.URL.Path))
}

// counted remembers the status of an answer.
type counted struct {
	http.ResponseWriter
	status int
}

func (c *counted) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// allowed says why a request is not answered at all. Health needs no key.
func (s *Server) allowed(r *http.Request) error {
	if s.options.Hosts != nil {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		if !slices.Contains(s.options.Hosts, strings.Trim(host, "[]")) {
			return refuse(http.StatusForbidden, "", "the server is not asked as %.128q", host)
		}
	}
	if s.options.Key == "" || r.URL.Path == "/health" {
		return nil
	}
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	a, b := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(s.options.Key))
	if !ok || subtle.ConstantTimeCompare(a[:], b[:]) != 1 {
		return refuse(http.StatusUnauthorized, "", "the request brings no key, or a wrong one: Authorization: Bearer KEY")
	}
	return nil
}

// answer reads the body of a request. One whose type is not JSON is refused, so that a page of elsewhere cannot send it unasked.
func (s *Server) answer(f func(w http.ResponseWriter, r *http.Request, body []byte) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			fail(w, refuse(http.StatusUnsupportedMediaType, "", "the body has to be JSON: Content-Type: application/json"))
			return
		}
		rc := http.NewResponseController(w)
		_ = rc.SetReadDeadline(time.Now().Add(time.Minute))
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.options.Body))
		var large *http.MaxBytesError
		switch {
		case errors.As(err, &large):
			err = refuse(http.StatusRequestEntityTooLarge, "", "the body has more than %d bytes", s.options.Body)
		case err != nil:
			err = refuse(http.StatusBadRequest, "", "the body did not come: %v", err)
		default:
			_ = rc.SetReadDeadline(time.Time{})
			err = f(w, r, body)
		}
		if err != nil {
			fail(w, err)
		}
	}
}

func reply(w http.ResponseWriter, status int, v any) {
	raw, err := json.Marshal(v)
	if err != nil {
		status, raw = http.StatusInternalServerError, []byte(`{"error":{"message":"the answer has no form in JSON","type":"server_error"}}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(raw, '\n'))
}

// problem is an error as the protocol has it.
func problem(err error) (status int, body map[string]any) {
	kind, param := "server_error", any(nil)
	status = http.StatusInternalServerError
	var r *refusal
	switch {
	case errors.As(err, &r):
		if status = r.status; status < 500 {
			kind = "invalid_request_error"
		}
		if r.param != "" {
			param = r.param
		}
	case errors.Is(err, errClosed):
		status = http.StatusServiceUnavailable
	}
	return status, map[string]any{"error": map[string]any{"message": err.Error(), "type": kind, "param": param, "code": nil}}
}

func fail(w http.ResponseWriter, err error) {
	status, body := problem(err)
	switch status {
	case http.StatusTooManyRequests:
		w.Header().Set("Retry-After", "1")
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	reply(w, status, body)
}
