//go:build !wasm

package native

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/weft-ml/weft/plan"
)

const (
	batchMost  = 40 // kernels in one run of the compiler
	batchLeast = 4  // fewer are not worth a second run: starting one costs as much as two kernels
)

// process is what this process has loaded, for all devices: machine code cannot be unloaded
// while somebody might call it, and equal kernels need it once.
var process = struct {
	sync.Mutex
	functions map[string]uintptr // by kernel key
	libraries map[string]uintptr // by hash
}{functions: map[string]uintptr{}, libraries: map[string]uintptr{}}

// builder finds or makes the machine code of kernels.
type builder struct {
	cc      *compiler
	cache   *cache
	prelude string
	base    []byte // hash of all that kernels have in common
	stats   *Stats
}

func newBuilder(cc *compiler, cache *cache, prelude string, stats *Stats) *builder {
	base := sha256.Sum256([]byte(fmt.Sprintf("weft native %d\n%d %s\n%d %s",
		plan.Version, len(cc.identity), cc.identity, len(prelude), prelude)))
	return &builder{cc, cache, prelude, base[:], stats}
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
	process.Lock()
	defer process.Unlock()
	keys := make([]string, len(kernels))
	missing := map[string]*plan.Kernel{}
	for i := range kernels {
		k := &kernels[i]
		keys[i] = b.key(k)
		if process.functions[keys[i]] != 0 || missing[keys[i]] != nil {
			continue
		}
		found, err := b.fromDisk(keys[i], k)
		if err != nil {
			return nil, err
		}
		if !found {
			missing[keys[i]] = k
		}
	}
	if len(missing) > 0 {
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

func (b *builder) fromDisk(key string, k *plan.Kernel) (bool, error) {
	sum := b.cache.find(key)
	if sum == "" {
		return false, nil
	}
	if process.libraries[sum] == 0 {
		if ok, err := b.cache.verify(sum); !ok || err != nil {
			return false, err
		}
	}
	if err := b.load(sum, key, k); err != nil {
		return false, err
	}
	b.stats.FromDisk++
	return true, nil
}

// load makes the kernel of a verified library callable.
func (b *builder) load(sum, key string, k *plan.Kernel) error {
	lib := process.libraries[sum]
	if lib == 0 {
		path := b.cache.library(sum)
		var err error
		if lib, err = openLibrary(path); err != nil {
			if text := err.Error(); strings.Contains(text, "failed to map segment") {
				return fmt.Errorf("CPU: the system refuses to run code from the cache folder %s (a file system mounted noexec?): %w; set WEFT_CACHE (Options.CacheDir) to a folder elsewhere", b.cache.dir, err)
			}
			return fmt.Errorf("CPU: load compiled kernel %s: %w; remove %s", k.Name, err, path)
		}
		process.libraries[sum] = lib
	}
	addr, err := librarySymbol(lib, k.Entry)
	if err != nil {
		return fmt.Errorf("CPU: kernel %s: its source does not define %s as a visible function: %w", k.Name, k.Entry, err)
	}
	process.functions[key] = addr
	return nil
}

// build compiles the kernels in as many runs as there are processors, but few enough that each
// is worth it.
func (b *builder) build(ctx context.Context, missing map[string]*plan.Kernel) error {
	if b.cc.broken != nil {
		return b.cc.broken
	}
	batches := split(missing, goruntime.NumCPU())
	errs := make([]error, len(batches))
	sums := make([]string, len(batches))
	dirs := make([]string, len(batches))
	slots := make(chan struct{}, goruntime.NumCPU())
	var wg sync.WaitGroup
	for i, keys := range batches {
		var err error
		if dirs[i], err = b.cache.temp(); err != nil {
			errs[i] = b.cache.unwritable(err)
			break
		}
		defer os.RemoveAll(dirs[i])
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			sums[i], errs[i] = b.compile(ctx, dirs[i], keys, missing)
		})
	}
	wg.Wait()
	for _, err := range errs { // one is enough to read
		if err != nil {
			return err
		}
	}
	for i, keys := range batches {
		for _, key := range keys {
			if err := b.load(sums[i], key, missing[key]); err != nil {
				return err
			}
			if err := b.cache.point(dirs[i], key, sums[i]); err != nil {
				return err
			}
		}
	}
	b.stats.Compiled += len(missing)
	return nil
}

// compile turns one batch into a library in the cache and returns its hash.
func (b *builder) compile(ctx context.Context, dir string, keys []string, of map[string]*plan.Kernel) (string, error) {
	var source strings.Builder
	var names []string
	source.WriteString(b.prelude)
	for _, key := range keys {
		source.WriteString("\n")
		source.WriteString(of[key].Source)
		source.WriteString("\n")
		names = append(names, of[key].Name)
	}
	work := filepath.Join(dir, "cc")
	if err := os.Mkdir(work, 0o700); err != nil {
		return "", b.cache.unwritable(err)
	}
	built, err := b.cc.compile(ctx, work, source.String(), names)
	if err != nil {
		return "", err
	}
	return b.cache.add(built)
}

// split deals the kernels out to batches of about equal text, the longest first. The same
// kernels always give the same batches.
func split(missing map[string]*plan.Kernel, processors int) [][]string {
	keys := make([]string, 0, len(missing))
	for key := range missing {
		keys = append(keys, key)
	}
	sort.Slice(keys, func(i, j int) bool {
		a, b := len(missing[keys[i]].Source), len(missing[keys[j]].Source)
		return a > b || a == b && keys[i] < keys[j]
	})
	n := max((len(keys)+batchMost-1)/batchMost, min(processors, (len(keys)+batchLeast-1)/batchLeast))
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
	return batches
}
