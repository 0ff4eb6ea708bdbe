package viz

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/weft-ml/weft/site"
)

// mostDump is how many bytes a dump may have.
const mostDump = 256 << 20

// Read reads a dump. What is not one, or of another version, is an error.
func Read(r io.Reader) (*Dump, error) {
	data, err := io.ReadAll(io.LimitReader(r, mostDump+1))
	if err != nil {
		return nil, err
	}
	if len(data) > mostDump {
		return nil, &DumpError{"it is larger than 256 MB"}
	}
	var d Dump
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, &DumpError{err.Error()}
	}
	if d.Version != version {
		return nil, &DumpError{"it has the version " + strconv.Itoa(d.Version) + ", not " + strconv.Itoa(version) + "; make it anew by VIZ=1, or name a file of tensor.SaveFunctions"}
	}
	for i := range d.Plans {
		p := &d.Plans[i]
		if p.Kernels == nil {
			p.Kernels = []Kernel{}
		}
		if len(p.Steps) != len(p.Chains) {
			return nil, &DumpError{"plan " + strconv.Itoa(i+1) + " lists " + strconv.Itoa(len(p.Chains)) + " lists of steps and has " + strconv.Itoa(len(p.Steps))}
		}
	}
	return &d, nil
}

// DumpError says why a file is no dump.
type DumpError struct{ Reason string }

func (e *DumpError) Error() string { return "no dump of plans: " + e.Reason }

// pages serves the page that looks inside, told where plans are, and the plans.
type pages struct{ of Source }

func handler(of Source) http.Handler { return pages{of} }

func (p pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
	switch path := r.URL.Path; {
	case !mine(r):
		http.Error(w, "call this server by its address on the loopback", http.StatusForbidden)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		http.Error(w, "it can only be looked at", http.StatusMethodNotAllowed)
	case path == "/":
		http.Redirect(w, r, "/inside/", http.StatusFound)
	case path == "/plans.json":
		w.Header().Set("Content-Disposition", `attachment; filename="plans.json"`)
		d, err := DumpOf(p.of)
		answer(w, d, err)
	case path == "/plans":
		titles, left := p.of.Titles()
		list := []map[string]string{}
		for _, t := range titles {
			list = append(list, map[string]string{"title": t})
		}
		answer(w, map[string]any{"plans": list, "left": left}, nil)
	case strings.HasPrefix(path, "/plans/"):
		p.plan(w, strings.TrimPrefix(path, "/plans/"))
	default:
		p.file(w, r, strings.TrimPrefix(path, "/"))
	}
}

// mine reports that a request is for this machine by one of its own names: another site's name that leads here is refused.
func mine(r *http.Request) bool {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return host == "localhost" || host == "127.0.0.1" || host == "::1" || host == "[::1]"
}

// plan answers "3", and "3/kernel 0".
func (p pages) plan(w http.ResponseWriter, path string) {
	number, id, chain := strings.Cut(path, "/")
	i, err := strconv.Atoi(number)
	if err != nil {
		answer(w, nil, &DumpError{"plans have numbers"})
		return
	}
	if chain {
		c, err := p.of.Chain(i, id)
		answer(w, c, err)
		return
	}
	v, err := p.of.Plan(i)
	answer(w, v, err)
}

func answer(w http.ResponseWriter, v any, err error) {
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		w.WriteHeader(http.StatusNotFound)
		v = map[string]string{"error": err.Error()}
	}
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Write(data)
}

// file serves a file of the page; the page itself learns where plans are.
func (p pages) file(w http.ResponseWriter, r *http.Request, name string) {
	if strings.HasSuffix(name, "/") {
		name += "index.html"
	}
	data, err := fs.ReadFile(site.Files, name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	types := map[string]string{"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8", "svg": "image/svg+xml"}
	w.Header().Set("Content-Type", types[name[strings.LastIndexByte(name, '.')+1:]])
	if name == "inside/index.html" {
		data = bytes.Replace(data, []byte("<head>"), []byte("<head>\n<meta name=\"weft-plans\" content=\"../plans\">"), 1)
		for _, line := range [][]byte{[]byte(`<link rel="modulepreload" href="../weft.js">`), []byte(`<link rel="preload" href="../whole.wasm" as="fetch" type="application/wasm" crossorigin>`)} {
			data = bytes.Replace(data, line, nil, 1) // there is no engine here
		}
	}
	w.Write(data)
}
