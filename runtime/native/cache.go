//go:build !wasm

package native

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/weft-ml/weft/atomicfile"
	"github.com/weft-ml/weft/runtime/codecache"
)

const indexExt = ".kernel"

// cache keeps libraries in a folder, named by the hash of their bytes, and one small entry for each kernel, named by the
// kernel's key, that tells its library. The entry carries a keyed hash, so the library is known to be this user's too.
type cache struct {
	folder *codecache.Folder // nil: there is none
	say    func(string)
	lost   bool // nothing is written any more: there is no folder, or it is full
}

// openCache finds the folder. Without one kernels are compiled in each process anew, which is said.
func openCache(named string, say func(string)) (*cache, error) {
	folder, why, err := codecache.Find(named, "")
	if err != nil {
		return nil, fmt.Errorf("CPU: %w", err)
	}
	c := &cache{folder: folder, say: say}
	if folder == nil {
		c.without(why)
	}
	return c, nil
}

// without says, once, that nothing is kept.
func (c *cache) without(why error) {
	if !c.lost && c.say != nil {
		c.say(fmt.Sprintf("CPU: compiled kernels are not kept and will be compiled again by the next process (%s); set WEFT_CACHE (Options.CacheDir) to a folder with room", c.said(why)))
	}
	c.lost = true
}

// said is the text of an error with paths that lead to files for everyone.
func (c *cache) said(err error) string {
	if c.folder == nil {
		return err.Error()
	}
	return c.folder.Said(err)
}

func (c *cache) close() {
	if c.folder != nil {
		c.folder.Close()
	}
}

// find returns the library that holds the kernel, "" when there is none.
func (c *cache) find(key string) string {
	if c.folder == nil {
		return ""
	}
	library, _ := c.folder.Get(key + indexExt)
	return string(library)
}

// place is a folder to compile in: within the cache, or a temporary one.
type place struct {
	*atomicfile.Folder
	outside string // its path for the compiler
	kept    bool
}

func (c *cache) place(kept bool) (*place, error) {
	if kept {
		w, err := c.folder.Work()
		if err != nil {
			return nil, fmt.Errorf("CPU: cannot write compiled kernels: %w; make %s writable or set WEFT_CACHE (Options.CacheDir) to another folder", err, c.folder.Path)
		}
		return &place{w, c.folder.Outside(w.Path), true}, nil
	}
	const prefix = "weft-"
	temp, err := filepath.Abs(os.TempDir())
	if err == nil {
		atomicfile.Sweep(temp, prefix)
		var w *atomicfile.Folder
		if w, err = atomicfile.Mkdir(temp, prefix); err == nil {
			return &place{w, w.Path, false}, nil
		}
	}
	return nil, fmt.Errorf("CPU: there is no folder to compile in: %w; set TMPDIR or WEFT_CACHE (Options.CacheDir) to a folder that can be written to", err)
}

// library is machine code in a file.
type library struct {
	name  string // hash and ending
	path  string
	place *place // where it was compiled; nil for one from disk
	lost  error  // why the cache did not take it
}

// keep moves what was compiled into the cache, if it was compiled there. What the cache does not take is used where it is.
func (c *cache) keep(p *place, built string) (l library, err error) {
	if p.kept {
		name, err := c.folder.Adopt(built, libraryExt)
		if err == nil {
			return library{name, c.folder.Name(name), p, nil}, nil
		}
		p.kept, l.lost = false, err
	}
	text, err := os.ReadFile(built)
	l.name, l.path, l.place = codecache.HashOf(text)+libraryExt, built, p
	return l, err
}

// point writes down which library holds a kernel. A failure costs a compile in the next process.
func (c *cache) point(key string, l library) {
	if l.place.kept && !c.lost {
		if err := c.folder.Put(key+indexExt, []byte(l.name)); err != nil {
			c.without(err)
		}
	}
}
