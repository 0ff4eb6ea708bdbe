package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"

	"github.com/weft-ml/weft/wasm/policy"
)

// Serve serves folders under the policy of the site, from a path below the root, as any static host does. A file is taken from the
// first folder that has it.
func Serve(folders ...string) *httptest.Server { return serve(false, folders) }

// ServeIsolated is Serve for pages that are cross-origin isolated: they may share memory between threads.
func ServeIsolated(folders ...string) *httptest.Server { return serve(true, folders) }

func serve(isolated bool, folders []string) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isolated {
			w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
			w.Header().Set("Cross-Origin-Embedder-Policy", "require-corp")
		}
		w.Header().Set("Content-Security-Policy", policy.Site())
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		name := r.URL.Path
		if strings.HasSuffix(name, "/") {
			name += "index.html"
		}
		for _, f := range folders {
			dir := http.Dir(f)
			if file, err := dir.Open(name); err == nil {
				file.Close()
				http.FileServer(dir).ServeHTTP(w, r)
				return
			}
		}
		http.NotFound(w, r)
	}))
}

// Build builds the engine for pages into a folder; where WEFT_BUILT names a folder that wasm/pack has written, it copies that.
func Build(root, folder string) error {
	if built := os.Getenv("WEFT_BUILT"); built != "" {
		return os.CopyFS(folder, os.DirFS(built))
	}
	cmd := exec.Command("go", "run", "./wasm/pack", "-o", folder)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the engine for pages: %w\n%s", err, out)
	}
	return nil
}
