package backends

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime/codecache"
	"github.com/weft-ml/weft/runtime/native"
)

const plansExt = ".plan"

// plans is the folder, beside the compiled kernels, of plans that took long to make: an entry for each graph, machine and program,
// which carries a keyed hash as compiled kernels do.
type plans struct {
	folder  *codecache.Folder
	machine string
}

// plansOf opens the folder that the options name, or the user's; without one plans are made anew by each process.
func plansOf(o engine.Options, compiler string) engine.PlanStore {
	f, _, err := codecache.Find(o.CacheDir, "plans")
	if err != nil || f == nil {
		return nil // the device says why kernels are not kept, and that is all there is to say
	}
	go program()
	return &plans{f, fmt.Sprintf("%d %s, %s, %+v", plan.Version, native.ProcessorName(), compiler, native.Describe())}
}

// program tells this program from others, and from itself as it was built another time: plans depend on the compiler in it. "" where
// that cannot be found out.
var program = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
})

func (s *plans) name(text string) string {
	if program() == "" {
		return ""
	}
	return codecache.HashOf(fmt.Appendf(nil, "%s\n%d %s\n%s", program(), len(s.machine), s.machine, text)) + plansExt
}

// Get reads a plan, or something else. What cannot be read counts as not there.
func (s *plans) Get(text string, into any) bool {
	name := s.name(text)
	if name == "" {
		return false
	}
	data, ok := s.folder.Get(name)
	return ok && gob.NewDecoder(bytes.NewReader(data)).Decode(into) == nil
}

// Close lets the folder go.
func (s *plans) Close() { s.folder.Close() }

// Put keeps a plan, or something else.
func (s *plans) Put(text string, what any) error {
	name := s.name(text)
	if name == "" {
		return nil
	}
	var data bytes.Buffer
	if err := gob.NewEncoder(&data).Encode(what); err != nil {
		return fmt.Errorf("write a plan: %w", err)
	}
	return s.folder.Put(name, data.Bytes())
}
