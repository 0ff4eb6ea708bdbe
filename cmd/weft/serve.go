package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-ml/weft/llm"
	"github.com/weft-ml/weft/llm/serve"
)

// serveOptions are the flags of weft serve.
type serveOptions struct {
	languageModel
	serve.Options
	Host, KeyFile string
	Port          int
}

func serveCommand(p *program) *cobra.Command {
	var o serveOptions
	c := &cobra.Command{
		Use:   "serve MODEL",
		Short: "Answer for a language model over HTTP",
		Long: `Loads a language model (of the families ` + families + `: a GGUF file, a folder with config.json and safetensors, or a checkpoint of
llama2.c) and answers requests in the protocol that editors and libraries speak: POST /v1/chat/completions, /v1/completions and
/v1/embeddings, GET /v1/models, /health and /metrics (Prometheus). Several requests are answered at the same time. Only this machine may
ask unless --host says otherwise; then there has to be a key.`,
		Example: `  weft serve model.gguf --port 8080
  curl http://127.0.0.1:8080/v1/chat/completions -H 'Content-Type: application/json' -d '{"messages": [{"role": "user", "content": "Hello"}]}'`,
		Args: sensible(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, args []string) error { return p.serve(c.Context(), args[0], o) },
	}
	f := c.Flags()
	o.flags(c)
	f.StringVar(&o.Host, "host", "127.0.0.1", "address to listen at")
	f.IntVar(&o.Port, "port", 8080, "port to listen at; 0: any that is free")
	f.StringVar(&o.KeyFile, "key-file", "", "file with the key that requests have to bring (Authorization: Bearer KEY)")
	f.StringVar(&o.Name, "name", "", "what the model is called (default: the name of the file or folder)")
	f.IntVar(&o.Texts, "parallel", 0, "requests to answer at the same time (default: 4)")
	f.IntVar(&o.Waiting, "waiting", 0, "requests that may wait for that; more are refused (default: 128)")
	f.IntVar(&o.Tokens, "tokens", 0, "tokens of an answer at most (default: as many as there is room for)")
	f.BoolVar(&o.Shift, "shift", false, "have answers go on when there is no room left: what stands before the first message of a user stays, the older half of the rest is forgotten")
	f.Int64Var(&o.Body, "body", 0, "bytes of a request at most (default: 4 MiB)")
	check(c, between(&o.Port, 0, 65535), "port")
	check(c, between(&o.Texts, 0, llm.MostTexts), "parallel")
	check(c, atLeast(&o.Waiting, 0), "waiting")
	check(c, atLeast(&o.Tokens, 0), "tokens")
	check(c, atLeast(&o.Body, 0), "body")
	return c
}

// prepare reads the key and says who may ask.
func (o *serveOptions) prepare(model string) error {
	if o.KeyFile != "" {
		raw, err := readSmall(o.KeyFile, 4096)
		if err != nil {
			return err
		}
		if o.Key = strings.TrimSpace(string(raw)); o.Key == "" {
			return fmt.Errorf("%s: the key is empty", o.KeyFile)
		}
	}
	if ip := net.ParseIP(o.Host); o.Host == "localhost" || ip != nil && ip.IsLoopback() {
		o.Hosts = []string{"localhost", "127.0.0.1", "::1", o.Host}
	} else if o.Key == "" {
		return usagef("at --host %s others may ask as well: name a file with a key by --key-file", o.Host)
	}
	if o.Name == "" {
		o.Name = modelName(model)
	}
	return nil
}

// modelName is what a model is called by its path: that of a folder, whose dots are its own, or of a file, which has an extension.
func modelName(path string) string {
	if whole, err := filepath.Abs(path); err == nil { // of "." as well
		path = whole
	}
	name := filepath.Base(path)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return name
	}
	return strings.TrimSuffix(name, filepath.Ext(name))
}

func (p *program) serve(ctx context.Context, model string, o serveOptions) error {
	if err := o.prepare(model); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(o.Host, strconv.Itoa(o.Port)))
	if err != nil {
		return fmt.Errorf("%w; choose where to listen by --host and --port (--port 0: any that is free)", err)
	}
	defer listener.Close()
	m, err := o.load(ctx, p, model)
	if err != nil {
		return err
	}
	s, err := serve.New(ctx, m, o.Options)
	if err != nil {
		return err
	}
	defer s.Close()
	if !m.Talks() {
		fmt.Fprintln(p.log, "the model comes without a template for conversations: /v1/chat/completions is refused, /v1/completions answers")
	}
	fmt.Fprintf(p.out, "%s answers at http://%s/v1\n", o.Name, listener.Addr())
	h := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	told := make(chan struct{}) // clients, of answers that end here
	stop := context.AfterFunc(ctx, func() {
		defer close(told)
		s.Close()
		quiet, cancel := context.WithTimeout(context.Background(), patience/2)
		defer cancel()
		_ = h.Shutdown(quiet)
	})
	defer stop()
	if err := h.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-told // Serve ends when Shutdown begins
	return ctx.Err()
}
