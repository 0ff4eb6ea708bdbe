// Package spare keeps freed blocks of memory for whoever asks next. The pages of a block that is used again are there already; those of
// a fresh one come from the system one by one, which takes longer than filling them. What nobody asked for in a while goes back.
//
// It knows sizes and ages. It refuses to know what a block is, where it lies and how many are worth keeping.
//
//	pool := spare.New(&mu, unmap)
//	pool.Put(block, size)
//	block, size, ok := pool.Take(least, most)
package spare

import (
	"sync"
	"time"
)

// Age is how long a block is kept that nobody asks for.
const Age = 30 * time.Second

// Pool is freed blocks. Its lock is that of its owner, who holds it while calling methods; the pool itself takes it when it gives back
// what is old.
type Pool[B any] struct {
	lock  sync.Locker
	drop  func(B)
	list  []kept[B] // oldest first
	bytes int64
	timer *time.Timer // set while there are blocks
}

type kept[B any] struct {
	block B
	size  int64
	since time.Time
}

// New makes a pool that gives blocks back by drop.
func New[B any](lock sync.Locker, drop func(B)) *Pool[B] { return &Pool[B]{lock: lock, drop: drop} }

// Bytes is the size of all blocks.
func (p *Pool[B]) Bytes() int64 { return p.bytes }

// Put keeps a block.
func (p *Pool[B]) Put(block B, size int64) {
	p.list = append(p.list, kept[B]{block, size, time.Now()})
	p.bytes += size
	if p.timer == nil {
		p.timer = time.AfterFunc(Age, p.age)
	}
}

// Take gives the smallest block of at least so many bytes, and at most so many; of equals the last one, which caches may still hold.
func (p *Pool[B]) Take(least, most int64) (block B, size int64, ok bool) {
	best := -1
	for i := range p.list {
		if n := p.list[i].size; n >= least && n <= most && (best < 0 || n <= p.list[best].size) {
			best = i
		}
	}
	if best < 0 {
		return block, 0, false
	}
	k := p.list[best]
	p.list = append(p.list[:best], p.list[best+1:]...)
	p.bytes -= k.size
	return k.block, k.size, true
}

// Trim gives blocks back, oldest first, until at most so many bytes are kept.
func (p *Pool[B]) Trim(bytes int64) {
	n := 0
	for ; p.bytes > bytes && n < len(p.list); n++ {
		p.bytes -= p.list[n].size
		p.drop(p.list[n].block)
	}
	if p.forget(n); len(p.list) == 0 && p.timer != nil { // which keeps the owner in memory
		p.timer.Stop()
		p.timer = nil
	}
}

// forget takes the oldest n out of the list.
func (p *Pool[B]) forget(n int) {
	left := copy(p.list, p.list[n:])
	clear(p.list[left:])
	p.list = p.list[:left]
}

// age gives back what is old, and comes again when the next block is.
func (p *Pool[B]) age() {
	p.lock.Lock()
	defer p.lock.Unlock()
	n := 0
	for ; n < len(p.list) && time.Since(p.list[n].since) >= Age; n++ {
		p.bytes -= p.list[n].size
		p.drop(p.list[n].block)
	}
	if p.forget(n); len(p.list) == 0 {
		p.timer = nil
		return
	}
	p.timer.Reset(Age - time.Since(p.list[0].since))
}
