//go:build !js

package wasm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/sys/cpu"

	"github.com/weft-ml/weft/atomicfile"
	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/codecache"
)

// wazeroVersion is the version that go.mod asks for. The engine does not know it itself in every program: in the binaries
// of tests it calls itself “dev”, so that one version would be given the code of another.
const wazeroVersion = "v1.12.0"

const moduleExt = ".module"

// cache keeps compiled modules. The engine reads and writes a folder of its own, believes what lies there but for a
// checksum, and stops at what is damaged. So it gets an empty folder of this process that is filled with the one module
// that is asked for, if it is as this user wrote it, and emptied again.
type cache struct {
	folder *codecache.Folder  // nil: there is none
	desk   *atomicfile.Folder // what the engine takes for its cache
	inner  string             // the folder that the engine makes within
	engine wazero.CompilationCache
	say    func(string)
	lost   bool // nothing is written any more: there is no folder, or it is full
}

// openCache finds the folder. Without one modules are compiled in each process anew, which is said.
func openCache(named string, say func(string)) (*cache, error) {
	c := &cache{say: say, engine: wazero.NewCompilationCache()}
	folder, why, err := codecache.Find(named, "wasm")
	if err != nil {
		return nil, &runtime.Misconfigured{Err: fmt.Errorf("%s: %w", Name, err)}
	}
	if folder == nil {
		c.without(why)
		return c, nil
	}
	if err := c.open(folder); err != nil {
		folder.Close()
		c.without(err)
	}
	return c, nil
}

func (c *cache) open(folder *codecache.Folder) error {
	desk, err := folder.Work()
	if err != nil {
		return err
	}
	engine, err := wazero.NewCompilationCacheWithDir(desk.Path)
	if err == nil {
		var made []fs.DirEntry
		if made, err = os.ReadDir(desk.Path); err == nil && len(made) != 1 {
			err = fmt.Errorf("BUG: wazero made %d folders", len(made))
		}
		if err == nil {
			c.folder, c.desk, c.inner, c.engine = folder, desk, filepath.Join(desk.Path, made[0].Name()), engine
			return nil
		}
	}
	desk.Remove()
	return err
}

func (c *cache) close(ctx context.Context) error {
	err := c.engine.Close(ctx)
	if c.folder != nil {
		c.desk.Remove()
		c.folder.Close()
	}
	return err
}

// without says, once, that nothing is kept.
func (c *cache) without(why error) {
	if !c.lost && c.say != nil {
		c.say(fmt.Sprintf("%s: compiled kernels are not kept and will be compiled again by the next process (%v); set WEFT_CACHE (Options.CacheDir) to a folder with room", Name, why))
	}
	c.lost = true
}

// entry names a module's machine code: it depends on everything that decides its bytes.
func entry(module []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "weft wasm %d, wazero %s, %s/%s, %v %v\n", plan.Version, wazeroVersion, goruntime.GOOS, goruntime.GOARCH, cpu.X86, cpu.ARM64)
	h.Write(module)
	return hex.EncodeToString(h.Sum(nil)) + moduleExt
}

// compile makes machine code of a module, or finds it. It ends with ctx.
func (c *cache) compile(ctx context.Context, engine wazero.Runtime, module []byte) (compiled wazero.CompiledModule, found bool, err error) {
	if c.folder == nil {
		compiled, err = compile(ctx, engine, module)
		return compiled, false, err
	}
	name := entry(module)
	laid := c.lay(name)
	compiled, err = compile(ctx, engine, module)
	if err != nil && ctx.Err() == nil {
		// What the engine says of its folder and what it says of the module look alike; so it is asked without the first.
		// What could not be written it has in memory.
		c.clear()
		why := err
		laid = nil
		if compiled, err = compile(ctx, engine, module); err == nil && c.made(laid) == "" {
			c.without(why)
		}
	}
	made := c.made(laid)
	if err == nil && made != "" && !c.lost {
		if failed := c.take(name, made); failed != nil {
			c.without(failed)
		}
	}
	c.clear()
	return compiled, laid != nil && made == "", err
}

// compile has several goroutines at work, also because the engine asks no context where there is one.
func compile(ctx context.Context, engine wazero.Runtime, module []byte) (compiled wazero.CompiledModule, err error) {
	defer func() { // it does so where the system has no memory for code
		if p := recover(); p != nil {
			err = fmt.Errorf("the engine gave up: %v", p)
		}
	}()
	return engine.CompileModule(experimental.WithCompilationWorkers(ctx, max(goruntime.GOMAXPROCS(0), 2)), module)
}

// An entry is the name that the engine gives its file and what is in it.
const nameLength = 2 * sha256.Size

// lay puts what is kept of a module where the engine looks for it.
func (c *cache) lay(name string) fs.FileInfo {
	data, ok := c.folder.Get(name)
	if !ok || len(data) < nameLength {
		return nil
	}
	path := filepath.Join(c.inner, filepath.Base(string(data[:nameLength])))
	if err := os.WriteFile(path, data[nameLength:], 0o600); err != nil {
		_ = os.Remove(path) // it may be there in part
		return nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}

// made is the file that the engine wrote, if it did: not the one that was laid there for it.
func (c *cache) made(laid fs.FileInfo) string {
	files, _ := os.ReadDir(c.inner)
	i := slices.IndexFunc(files, func(f fs.DirEntry) bool {
		info, err := f.Info()
		return err == nil && len(f.Name()) == nameLength && (laid == nil || !os.SameFile(info, laid) || !info.ModTime().Equal(laid.ModTime()))
	})
	if i < 0 {
		return ""
	}
	return files[i].Name()
}

// take keeps a file of the engine's.
func (c *cache) take(name, file string) error {
	data, err := os.ReadFile(filepath.Join(c.inner, file))
	if err != nil {
		return err
	}
	return c.folder.Put(name, append([]byte(file), data...))
}

// clear removes all files of the engine's.
func (c *cache) clear() {
	files, err := os.ReadDir(c.inner)
	if errors.Is(err, fs.ErrNotExist) {
		_ = os.MkdirAll(c.inner, 0o700) // somebody has tidied up
	}
	for _, f := range files {
		_ = os.RemoveAll(filepath.Join(c.inner, f.Name()))
	}
}
