package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ask sends a request to a server of dir that listens on this machine.
func ask(t *testing.T, dir, host, method, target string, header ...string) (*http.Response, string) {
	s := httptest.NewServer(handler(opened(t, dir), "localhost"))
	defer s.Close()
	r, err := http.NewRequest(method, s.URL, nil)
	require.NoError(t, err)
	r.URL.Opaque = target // as it stands, "..", and all
	if host != "" {
		r.Host = host
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	a, err := client.Do(r)
	require.NoError(t, err)
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	require.NoError(t, err)
	return a, string(body)
}

func write(t *testing.T, dir, name, text string) {
	file := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o777))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o666))
}

func TestNothingOutsideOfTheFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	above := t.TempDir()
	dir := filepath.Join(above, "site")
	write(t, above, "secret.txt", "secret")
	write(t, above, "private/index.html", "secret")
	write(t, dir, "index.html", "page")
	write(t, dir, "engine.wasm", "engine")
	for link, to := range map[string]string{
		"absolute.txt": filepath.Join(above, "secret.txt"), "relative.txt": "../secret.txt", "folder": "../private",
		"whole": "/", "engine.wasm.br": "../secret.txt", "inside.html": "index.html", "loop": "loop",
	} {
		require.NoError(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	for _, target := range []string{
		"/absolute.txt", "/relative.txt", "/folder/", "/folder/index.html", "/whole/etc/passwd", "/loop", "/../secret.txt",
		"/x/../../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/..%5csecret.txt", "/x//../../secret.txt", "/engine.wasm.br",
	} {
		a, body := ask(t, dir, "", http.MethodGet, target)
		assert.Equal(t, http.StatusNotFound, a.StatusCode, target)
		assert.NotContains(t, body, "secret", target)
	}
	a, body := ask(t, dir, "", http.MethodGet, "/inside.html")
	assert.Equal(t, http.StatusOK, a.StatusCode, "a link within the folder")
	assert.Equal(t, "page", body)
	a, body = ask(t, dir, "", http.MethodGet, "/engine.wasm", "Accept-Encoding", "br")
	assert.Equal(t, http.StatusOK, a.StatusCode)
	assert.Empty(t, a.Header.Get("Content-Encoding"))
	assert.Equal(t, "engine", body)
}

func TestNeitherListingsNorHiddenFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "index.html", "page")
	write(t, dir, "sub/index.html", "below")
	write(t, dir, "plain/known.txt", "text")
	write(t, dir, ".git/config", "hidden")
	write(t, dir, "sub/.env", "hidden")
	for target, want := range map[string]string{"/": "page", "/sub/": "below", "/plain/known.txt": "text"} {
		a, body := ask(t, dir, "", http.MethodGet, target)
		assert.Equal(t, http.StatusOK, a.StatusCode, target)
		assert.Equal(t, want, body)
	}
	for _, target := range []string{"/plain/", "/.git/config", "/.git/", "/sub/.env", "/index.html/", "/%2egit/config"} {
		a, body := ask(t, dir, "", http.MethodGet, target)
		assert.Equal(t, http.StatusNotFound, a.StatusCode, target)
		assert.NotContains(t, body, "known", "a list of files")
	}
	a, _ := ask(t, dir, "", http.MethodGet, "/sub")
	assert.Equal(t, http.StatusMovedPermanently, a.StatusCode)
	assert.Equal(t, "sub/", a.Header.Get("Location"))
	a, _ = ask(t, dir, "", http.MethodGet, "//sub") // never a redirect to another host
	assert.NotContains(t, a.Header.Get("Location"), "//")
}

func TestHost(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "index.html", "page")
	for _, host := range []string{"", "localhost", "localhost:8080", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:9", "[::1]", "[::1]:8080"} {
		a, _ := ask(t, dir, host, http.MethodGet, "/")
		assert.Equal(t, http.StatusOK, a.StatusCode, host)
	}
	for _, host := range []string{"evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "10.1.2.3", "[::2]:80"} {
		a, body := ask(t, dir, host, http.MethodGet, "/")
		assert.Equal(t, http.StatusMisdirectedRequest, a.StatusCode, host)
		assert.Contains(t, body, "does not answer for the host")
		assert.NotContains(t, body, "page")
	}
	// The address that a request arrived at, and the one that was asked for, are names of this machine, too.
	f := files{opened(t, dir), "weft.lan"}
	for host, want := range map[string]bool{"192.168.1.5:80": true, "weft.lan": true, "192.168.1.6": false, "": false} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		at := &net.TCPAddr{IP: net.ParseIP("192.168.1.5"), Port: 80}
		assert.Equal(t, want, f.mine(r.WithContext(context.WithValue(t.Context(), http.LocalAddrContextKey, at))), host)
	}
}

func TestMethods(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "index.html", "page")
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "NONSENSE"} {
		a, body := ask(t, dir, "", method, "/")
		assert.Equal(t, http.StatusMethodNotAllowed, a.StatusCode, method)
		assert.Equal(t, "GET, HEAD", a.Header.Get("Allow"))
		assert.Contains(t, body, "GET and HEAD")
	}
	a, body := ask(t, dir, "", http.MethodHead, "/")
	assert.Equal(t, http.StatusOK, a.StatusCode)
	assert.EqualValues(t, 4, a.ContentLength)
	assert.Empty(t, body)
}

func TestContentTypes(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{
		"index.html": "text/html; charset=utf-8", "weft.js": "text/javascript; charset=utf-8", "s.css": "text/css; charset=utf-8",
		"weft.d.ts": "text/plain; charset=utf-8", "a.json": "application/json", "a.svg": "image/svg+xml", "A.PNG": "image/png",
		"weft.wasm": "application/wasm", "weights.safetensors": "application/octet-stream", "none": "application/octet-stream",
	} {
		write(t, dir, name, "<html>")
		a, _ := ask(t, dir, "", http.MethodGet, "/"+name)
		assert.Equal(t, want, a.Header.Get("Content-Type"), name)
		assert.Equal(t, "nosniff", a.Header.Get("X-Content-Type-Options"))
	}
}

func TestRanges(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "w.bin", "0123456789")
	a, body := ask(t, dir, "", http.MethodGet, "/w.bin", "Range", "bytes=2-4")
	assert.Equal(t, http.StatusPartialContent, a.StatusCode)
	assert.Equal(t, "bytes 2-4/10", a.Header.Get("Content-Range"))
	assert.Equal(t, "234", body)
	a, _ = ask(t, dir, "", http.MethodGet, "/w.bin", "Range", "bytes=20-")
	assert.Equal(t, http.StatusRequestedRangeNotSatisfiable, a.StatusCode)
	a, _ = ask(t, dir, "", http.MethodGet, "/w.bin")
	assert.Equal(t, "bytes", a.Header.Get("Accept-Ranges"))
	a, _ = ask(t, dir, "", http.MethodGet, "/w.bin", "If-Modified-Since", a.Header.Get("Last-Modified"))
	assert.Equal(t, http.StatusNotModified, a.StatusCode)
}

// Every wait for a client has an end, and large files have time.
func TestClientsDoNotHoldTheServer(t *testing.T) {
	s := newServer(nil)
	for name, d := range map[string]time.Duration{"header": s.ReadHeaderTimeout, "request": s.ReadTimeout, "idle": s.IdleTimeout, "response": s.WriteTimeout} {
		assert.Greater(t, d, time.Duration(0), name)
		assert.LessOrEqual(t, d, time.Minute, name)
	}
	assert.Positive(t, s.MaxHeaderBytes)
	assert.Equal(t, leastTime, deadline(0))
	assert.Equal(t, leastTime+16*1024*time.Second, deadline(1<<30))

	start := func(idle, header time.Duration) (dial func(text string) string) {
		s := newServer(handler(opened(t, folder(t)), "localhost"))
		s.IdleTimeout, s.ReadHeaderTimeout = idle, header
		at, err := net.Listen("tcp", "localhost:0")
		require.NoError(t, err)
		done := make(chan error, 1)
		go func() { done <- s.Serve(at) }()
		t.Cleanup(func() {
			require.NoError(t, s.Close())
			require.ErrorIs(t, <-done, http.ErrServerClosed)
		})
		return func(text string) string {
			c, err := net.Dial("tcp", at.Addr().String())
			require.NoError(t, err)
			defer c.Close()
			_, err = io.WriteString(c, text)
			require.NoError(t, err)
			all, _ := io.ReadAll(c) // ends when the server hangs up
			return string(all)
		}
	}
	assert.NotContains(t, start(idleTime, time.Millisecond)("GET / HT"), "200", "half a request")
	dial := start(time.Millisecond, headerTime)
	assert.Contains(t, dial("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "200 OK", "an idle connection")
	assert.Contains(t, dial("GET / HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("x", 2*headerBytes)+"\r\n\r\n"), "431")
}

// An interrupt lets a response end that has begun, and takes no more requests.
func TestShutdown(t *testing.T) {
	dir := folder(t)
	write(t, dir, "large.bin", strings.Repeat("x", 32<<20)) // more than sockets hold
	free, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	port := free.Addr().(*net.TCPAddr).Port
	require.NoError(t, free.Close())
	ctx, interrupt := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, dir, "localhost", port, false) }()
	var c net.Conn
	require.Eventually(t, func() bool {
		c, err = net.Dial("tcp", free.Addr().String())
		return err == nil
	}, time.Minute, time.Millisecond)
	defer c.Close()
	fmt.Fprintf(c, "GET /large.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	interrupt()
	n, err := io.Copy(io.Discard, answer.Body)
	require.NoError(t, err)
	assert.EqualValues(t, 32<<20, n)
	require.NoError(t, <-done)
	_, err = net.Dial("tcp", free.Addr().String())
	assert.Error(t, err)
}
