//go:build !wasm

package native

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	goruntime "runtime"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/weft-ml/weft/plan"
)

const (
	batchMost  = 40      // kernels in one run of the compiler
	batchLeast = 4       // fewer are not worth a second run: starting one costs as much as two kernels
	batchText  = 120_000 // bytes of text that make a run long enough
)

// process is what this process has loaded, for all devices: machine code cannot be unloaded
// while somebody might call it, and equal kernels need it once.
var process = struct {
	turn      chan struct{}      // full while somebody has it
	functions map[string]uintptr // by kernel key
	libraries map[string]uintptr // by name
}{make(chan struct{}, 1), map[string]uintptr{}, map[string]uintptr{}}

// builder finds or makes the machine code of kernels.
type builder struct {
	cc      *compiler
	cache   *cache
	prelude string
	base    []byte // hash of all that kernels have in common
	stats   *Stats
	slots   chan struct{} // full while as many compilers run as there are processors
	ahead   ahead
}

func newBuilder(cc *compiler, cache *cache, prelude string, stats *Stats) *builder {
	base := sha256.Sum256([]byte(fmt.Sprintf("weft native %d\n%d %s\n%d %s",
		plan.Version, len(cc.identity), cc.identity, len(prelude), prelude)))
	return &builder{cc: cc, cache: cache, prelude: prelude, base: base[:], stats: stats, slots: make(chan struct{}, goruntime.NumCPU())}
}

// key names a kernel's machine code: it depends on everything that decides its bytes.
func (b *builder) key(k *plan.Kernel) string {
	h := sha256.New()
	h.Write(b.base)
	fmt.Fprintf(h, "%s\n%s", k.Entry, k.Source)
	return hex.EncodeToString(h.Sum(nil))
}

// functions returns the address of each kernel. What neither the process nor the cache folder
// has is compiled, all together.
func (b *builder) functions(ctx context.Context, kernels []plan.Kernel) ([]uintptr, error) {
	select {
	case process.turn <- struct{}{}:
		defer func() { <-process.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	keys := make([]string, len(kernels))
	missing := map[string]*plan.Kernel{}
	for i := range kernels {
		k := &kernels[i]
		keys[i] = b.key(k)
		if process.functions[keys[i]] != 0 || missing[keys[i]] != nil {
			continue
		}
		if b.ahead.knows(keys[i]) || !b.fromDisk(keys[i], k) {
			missing[keys[i]] = k
		}
	}
	if len(missing) > 0 || len(b.ahead.begun) > 0 || len(b.ahead.order) > 0 {
		start := time.Now()
		if err := b.build(ctx, missing); err != nil {
			return nil, err
		}
		b.stats.Compiling += time.Since(start)
	}
	addrs := make([]uintptr, len(kernels))
	for i, key := range keys {
		addrs[i] = process.functions[key]
	}
	return addrs, nil
}

// fromDisk loads a kernel that is in the cache. One that does not load, on another system perhaps than the one that
// compiled it, is compiled again.
func (b *builder) fromDisk(key string, k *plan.Kernel) bool {
	name := b.cache.find(key)
	if name == "" || process.libraries[name] == 0 && !b.cache.folder.Has(name) {
		return false
	}
	if b.load(library{name: name, path: b.cache.folder.Name(name)}, key, k) != nil {
		return false
	}
	b.stats.count(&b.stats.FromDisk, k)
	return true
}

// load makes the kernel of a verified library callable.
func (b *builder) load(l library, key string, k *plan.Kernel) error {
	lib := process.libraries[l.name]
	if lib == 0 {
		var err error
		if lib, err = openLibrary(l.path); err != nil {
			text := b.cache.said(err) // which names the file
			if strings.Contains(text, "failed to map segment") {
				return fmt.Errorf("CPU: the system refuses to run code from a folder (on a file system mounted noexec?): %s; set WEFT_CACHE (Options.CacheDir) to a folder elsewhere", text)
			}
			return fmt.Errorf("CPU: kernel %s: what %s wrote cannot be loaded: %s", k.Name, b.cc.name, text)
		}
		process.libraries[l.name] = lib
	}
	addr, err := librarySymbol(lib, k.Entry)
	if err != nil {
		return fmt.Errorf("CPU: kernel %s: its source does not define %s as a visible function: %s", k.Name, k.Entry, b.cache.said(err))
	}
	process.functions[key] = addr
	return nil
}

// build makes the machine code of kernels: of some the compiler began before.
func (b *builder) build(ctx context.Context, missing map[string]*plan.Kernel) error {
	b.beginOthers(ctx, missing)
	ahead, left := b.takeAhead(), maps.Clone(missing)
	for _, a := range ahead {
		for _, key := range a.keys {
			delete(left, key)
		}
	}
	p := b.progress(left, ahead)
	err := b.compileAll(ctx, left, p)
	again := map[string]*plan.Kernel{}
	for _, a := range ahead {
		for _, key := range b.finish(ctx, a, p) {
			if k := missing[key]; k != nil {
				again[key] = k
			}
		}
	}
	if err == nil && len(again) > 0 {
		err = b.compileAll(ctx, again, p)
	}
	return err
}

// compileAll compiles kernels in as many runs as there are processors, or more where there is much, but few enough that each is worth it.
func (b *builder) compileAll(ctx context.Context, missing map[string]*plan.Kernel, p *progress) error {
	if len(missing) == 0 {
		return nil
	}
	batches := split(missing, goruntime.NumCPU())
	libraries, err := b.compile(ctx, batches, missing, !b.cache.lost, p)
	if err != nil && !b.cache.lost && full(err) && ctx.Err() == nil {
		b.cache.without(err)
		libraries, err = b.compile(ctx, batches, missing, false, p)
	}
	for _, l := range libraries {
		if l.place != nil {
			defer l.place.Remove()
		}
	}
	if err != nil {
		return err
	}
	for i, keys := range batches {
		if err := b.loadAll(libraries[i], keys, missing); err != nil {
			return err
		}
	}
	return nil
}

// loadAll makes the kernels of a library that was compiled just now callable, and notes where they are.
func (b *builder) loadAll(l library, keys []string, of map[string]*plan.Kernel) error {
	if l.lost != nil {
		b.cache.without(l.lost)
	}
	for _, key := range keys {
		if err := b.load(l, key, of[key]); err != nil {
			if l.place.kept {
				b.cache.folder.Remove(l.name)
			}
			return err
		}
		b.cache.point(key, l)
		b.stats.count(&b.stats.Compiled, of[key])
	}
	return nil
}

// count adds a kernel, if it is one of a plan.
func (s *Stats) count(n *int, k *plan.Kernel) {
	if k.Entry != crewKernel.Entry {
		*n++
	}
}

// compile turns each batch into a library, in the cache or in a temporary folder.
func (b *builder) compile(ctx context.Context, batches [][]string, of map[string]*plan.Kernel, kept bool, p *progress) ([]library, error) {
	errs, libraries := make([]error, len(batches)), make([]library, len(batches))
	var wg sync.WaitGroup
	for i, keys := range batches {
		wg.Go(func() {
			b.slots <- struct{}{}
			defer func() { <-b.slots }()
			libraries[i], errs[i] = b.compileBatch(ctx, keys, of, kept)
			p.done.Add(int32(len(keys)))
		})
	}
	all := make(chan struct{})
	go func() {
		wg.Wait()
		close(all)
	}()
	p.await(all)
	for _, err := range errs { // one is enough to read
		if err != nil {
			for _, l := range libraries {
				if l.place != nil {
					l.place.Remove()
				}
			}
			return nil, err
		}
	}
	return libraries, nil
}

func (b *builder) compileBatch(ctx context.Context, keys []string, of map[string]*plan.Kernel, kept bool) (l library, err error) {
	var source strings.Builder
	var names []string
	source.WriteString(b.prelude)
	for _, key := range keys {
		source.WriteString("\n")
		source.WriteString(of[key].Source)
		source.WriteString("\n")
		if of[key].Entry != crewKernel.Entry {
			names = append(names, of[key].Name)
		}
	}
	p, err := b.cache.place(kept)
	if err != nil {
		return l, err
	}
	built, err := b.cc.compile(ctx, p.Path, p.outside, source.String(), names)
	if err == nil {
		l, err = b.cache.keep(p, built)
	}
	if err != nil {
		p.Remove()
	}
	return l, err
}

// split deals the kernels out to batches of about equal text, the longest first, and the threads last: where something is missing, a
// kernel's name says more. The same kernels always give the same batches.
func split(missing map[string]*plan.Kernel, processors int) [][]string {
	keys := make([]string, 0, len(missing))
	var apart []string // what programs wrote may define anything
	for key, k := range missing {
		if k.Foreign {
			apart = append(apart, key)
		} else {
			keys = append(keys, key)
		}
	}
	sort.Slice(keys, func(i, j int) bool {
		if x, y := missing[keys[i]], missing[keys[j]]; x.Entry == crewKernel.Entry || y.Entry == crewKernel.Entry {
			return x.Entry != crewKernel.Entry
		}
		a, b := len(missing[keys[i]].Source), len(missing[keys[j]].Source)
		return a > b || a == b && keys[i] < keys[j]
	})
	text := 0
	for _, key := range keys {
		text += len(missing[key].Source)
	}
	n := max((len(keys)+batchMost-1)/batchMost, min(processors, (len(keys)+batchLeast-1)/batchLeast), min(text/batchText, len(keys)))
	if n > processors { // all have as much to do
		n = min((n+processors-1)/processors*processors, len(keys))
	}
	batches, size := make([][]string, n), make([]int, n)
	for _, key := range keys {
		at := 0
		for i := range batches {
			if size[i] < size[at] {
				at = i
			}
		}
		batches[at] = append(batches[at], key)
		size[at] += len(missing[key].Source) + 200
	}
	sort.Strings(apart)
	for _, key := range apart {
		batches = append(batches, []string{key})
	}
	return batches
}
