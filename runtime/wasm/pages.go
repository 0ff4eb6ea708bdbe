//go:build !js

package wasm

import "github.com/weft-ml/weft/plan/wasmmod"

const (
	pageBytes  = wasmmod.PageBytes
	mostBytes  = 1<<32 - pageBytes // the last page would make sizes overflow 32 bits
	leastBytes = 64 << 20
)

// pages are the bytes of the WebAssembly memory, outside of Go's heap: reserved as a whole, so that they never move.
type pages struct{ all, used []byte }

// Reallocate makes the memory that long. The engine calls it when the memory grows.
func (p *pages) Reallocate(size uint64) []byte {
	if size > uint64(len(p.all)) || !p.commit(len(p.used), int(size)) {
		return nil
	}
	p.used = p.all[:size]
	return p.used
}

// within gives the whole pages of the system in a range.
func (p *pages) within(from, to, page int) []byte {
	from, to = (from+page-1)/page*page, to/page*page
	return p.all[from:max(from, to)]
}

// Free is the engine's; the device releases the pages itself, when no buffer is in use.
func (p *pages) Free() {}
