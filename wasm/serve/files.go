package main

import (
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"github.com/weft-ml/weft/wasm/policy"
)

// types are the content types of what a site is made of. They stand here because a machine's own table may say anything (a .ts
// is a film to some), and because browsers are told not to guess.
var types = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".mjs":  "text/javascript; charset=utf-8",
	".ts":   "text/plain; charset=utf-8",
	".txt":  "text/plain; charset=utf-8",
	".md":   "text/plain; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".json": "application/json",
	".map":  "application/json",
	".wasm": "application/wasm",
	".svg":  "image/svg+xml",
	".png":  "image/png",
	".jpg":  "image/jpeg",
	".ico":  "image/x-icon",
}

const unknownType = "application/octet-stream"

// The least time that a response is given, and the least speed of a reader beyond that.
const (
	leastTime  = 30 * time.Second
	leastSpeed = 64 << 10 // bytes a second
)

// files serves the files of a folder. It follows links within the folder and none that lead out of it.
type files struct {
	root *os.Root
	host string // as asked for; another name of this machine
}

// handler serves files under the policy; compressed ones where there are any and the browser takes them. The pages are
// isolated from those of other origins, without which browsers give no memory to share between threads: the site works
// without these two headers as well, on one thread.
func handler(root *os.Root, host string) http.Handler { return files{root, host} }

func (f files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy.Site())
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Embedder-Policy", "require-corp")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-cache")
	switch {
	case !f.mine(r):
		http.Error(w, fmt.Sprintf("This server does not answer for the host %q. Open it as localhost, or start it with -host.", r.Host),
			http.StatusMisdirectedRequest)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, fmt.Sprintf("This server gives files: GET and HEAD, not %q.", r.Method), http.StatusMethodNotAllowed)
	default:
		f.send(w, r)
	}
}

// mine says whether a request calls this server by a name of this machine. A page elsewhere can make its own name lead here
// (DNS rebinding) and would read what it is not given; then the request carries that name. Ports are not compared: behind
// a tunnel they differ, and a page cannot choose the name with them.
func (f files) mine(r *http.Request) bool {
	name := r.Host
	if host, _, err := net.SplitHostPort(name); err == nil {
		name = host
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if name == "" {
		return false
	}
	if strings.EqualFold(name, "localhost") || strings.EqualFold(name, f.host) {
		return true
	}
	ip := net.ParseIP(name)
	if ip == nil {
		return false
	}
	at, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ip.IsLoopback() || at != nil && at.IP.Equal(ip)
}

// send sends the file that the path names; of a folder its index.html.
func (f files) send(w http.ResponseWriter, r *http.Request) {
	name, ok := local(r.URL.Path)
	if !ok {
		http.NotFound(w, r)
		return
	}
	info, err := f.root.Stat(name)
	if err == nil && info.IsDir() {
		if !strings.HasSuffix(r.URL.Path, "/") {
			w.Header().Set("Location", path.Base(r.URL.Path)+"/")
			w.WriteHeader(http.StatusMovedPermanently)
			return
		}
		name = path.Join(name, "index.html")
		info, err = f.root.Stat(name)
	} else if err == nil && strings.HasSuffix(r.URL.Path, "/") {
		err = fs.ErrNotExist
	}
	// Opening what is neither, a pipe perhaps, may wait for ever.
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil { // a link that leads out of the folder among them: the reason is not the reader's affair
		http.NotFound(w, r)
		return
	}
	kind := types[strings.ToLower(path.Ext(name))]
	if kind == "" {
		kind = unknownType
	}
	if path.Ext(name) == ".wasm" {
		w.Header().Add("Vary", "Accept-Encoding")
		if strings.Contains(r.Header.Get("Accept-Encoding"), "br") {
			if packed, err := f.root.Stat(name + ".br"); err == nil && packed.Mode().IsRegular() {
				w.Header().Set("Content-Encoding", "br")
				name, info = name+".br", packed
			}
		}
	}
	file, err := f.root.Open(name)
	if err != nil {
		w.Header().Del("Content-Encoding")
		http.NotFound(w, r)
		return
	}
	defer file.Close()
	w.Header().Set("Content-Type", kind)
	// Where there is no connection, in a test of the handler alone, there is no deadline either.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(deadline(info.Size())))
	http.ServeContent(w, r, name, info.ModTime(), file)
}

// deadline is how long a response of so many bytes may take.
func deadline(bytes int64) time.Duration {
	return leastTime + time.Duration(bytes/leastSpeed)*time.Second
}

// local is a path of a request as one below the folder. Names that begin with a dot are not shown, "." and ".." among them.
func local(p string) (name string, ok bool) {
	if !strings.HasPrefix(p, "/") || strings.ContainsAny(p, "\\\x00") {
		return "", false
	}
	for part := range strings.SplitSeq(p, "/") {
		if strings.HasPrefix(part, ".") {
			return "", false
		}
	}
	name = path.Clean(strings.Trim(p, "/"))
	return name, fs.ValidPath(name)
}
