package backends

import (
	"fmt"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/engine/search"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/codecache"
)

func init() {
	engine.SearchWith(search.All(codecache.HashOf))
	engine.KeepDirectives(func(o engine.Options) (engine.DirectiveStore, error) {
		m, err := OpenDirectives(o)
		if err != nil {
			return nil, err
		}
		return m, nil
	})
}

const directivesExt = ".directives"

// Directives is the folder, beside the compiled kernels, of what searches found: an entry for each kernel and machine, which carries
// a keyed hash as compiled kernels do. See engine.Options.Search.
type Directives struct{ folder *codecache.Folder }

// OpenDirectives opens the folder that the options name, or the user's.
func OpenDirectives(o engine.Options) (*Directives, error) {
	f, why, err := codecache.Find(o.CacheDir, "directives")
	if err != nil {
		return nil, &runtime.Misconfigured{Err: err}
	}
	if f == nil {
		return nil, fmt.Errorf("%w; set WEFT_CACHE (Options.CacheDir) to a folder with room", why)
	}
	return &Directives{f}, nil
}

// Get gives an entry.
func (m *Directives) Get(name string) ([]byte, bool) { return m.folder.Get(name + directivesExt) }

// Put writes an entry.
func (m *Directives) Put(name string, text []byte) error {
	return m.folder.Put(name+directivesExt, text)
}

// Close lets the folder go.
func (m *Directives) Close() { m.folder.Close() }

// Export gives all that is kept, in the form of engine.Options.Directives. Entries of other versions are left out.
func (m *Directives) Export() (text []byte, count int) {
	var all []search.Choice
	for _, name := range m.folder.List(directivesExt) {
		text, ok := m.folder.Get(name)
		if !ok {
			continue
		}
		if list, err := search.ParseChoices(text); err == nil && len(list) == 1 {
			all = append(all, list[0])
		}
	}
	search.Sort(all)
	return search.FormatChoices(all), len(all)
}

// Import keeps what Export gave, here or elsewhere. Whether the directives are legal is found out before they are used.
func (m *Directives) Import(text []byte) (count int, err error) {
	list, err := search.ParseChoices(text)
	if err != nil {
		return 0, err
	}
	for _, c := range list {
		if err := m.Put(search.EntryName(codecache.HashOf, c.Key, c.Machine), search.FormatChoices([]search.Choice{c})); err != nil {
			return count, err
		}
		count++
	}
	return count, nil
}
