package engine

import (
	goruntime "runtime"
	"sync"
	"time"

	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/uop"
)

// Device memory is outside of what Go's collector sees: a program that drops a result of 64 MB drops a few hundred bytes. So the
// engine counts what it hands out, and has the collector run when that much may be waiting for it. Then the next result lies where
// an old one did, whose pages the system has given already; fresh ones cost more than computing what goes there. How much may wait
// does not depend on how much is live, since what is outside costs the collector nothing: it depends on what the collector has to look at.

// pressure decides when the collector runs.
type pressure struct {
	since  int64 // bytes handed out since the last collection
	most   int64 // how many that may be; 0 before the first collection
	freeMu sync.Mutex
	free   []*cell     // unused, not yet given back
	over   bool        // the engine was closed: nothing is left to be given back
	used   time.Time   // when memory was handed out last
	idle   *time.Timer // ends a time without use; nil: nothing waits for that
	ran    int         // collections
}

const (
	leastWaiting = 64 << 20  // bytes that are worth a collection
	mostWaiting  = 256 << 20 // bytes that are worth any, unless they are few beside what is live
	scanWorth    = 16        // bytes outside that are worth the scanning of one of Go's
	liveShare    = 8         // one part in so many of what is live may wait

	idleAfter   = 10 * time.Second // without a new array
	idleWaiting = 1 << 20          // bytes that are worth a collection then
)

// unused is told by the collector of a cell whose storage is gone. Devices are not safe for concurrent use, so it only queues.
func (m *memory) unused(c *cell) {
	m.freeMu.Lock()
	if !m.over {
		m.free = append(m.free, c)
	}
	m.freeMu.Unlock()
}

// drain gives back what the collector found.
func (m *memory) drain() {
	m.freeMu.Lock()
	free := m.free
	m.free = nil
	m.freeMu.Unlock()
	for _, c := range free {
		m.forget(c)
	}
}

// collect forgets old nodes, runs the collector and frees what it found: the weak pointers tell that at once, where cleanups
// would have to be waited for.
func (m *memory) collect() {
	uop.EndGeneration()
	uop.EndGeneration()
	goruntime.GC()
	before := m.live
	for i := len(m.cells) - 1; i >= 0; i-- { // the last takes the place of one that goes
		if c := m.cells[i]; c.of.Value() == nil {
			m.forget(c)
		}
	}
	m.drain()
	m.most = mayWait(m.live, scanned(), 2*(before-m.live) < m.since)
	m.since, m.ran = 0, m.ran+1
}

// mayWait is how many bytes may be handed out before the next collection, with so many live ones and so many of Go's that the
// collector looks at. In vain says that the last one found little: where a program keeps all that it makes, as one that loads weights,
// collections become rarer.
func mayWait(live, scan int64, inVain bool) int64 {
	share := live / liveShare
	most := max(leastWaiting, min(scanWorth*scan, max(mostWaiting, share)))
	if inVain {
		most = max(most, share)
	}
	return most
}

// scanned is about how many bytes of Go's memory the collector looks at. Objects tell that better than bytes, of which most may be in
// a few arrays of numbers that it passes over.
func scanned() int64 {
	const object = 64 // bytes
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return object * int64(m.HeapObjects)
}

// alloc gives device memory, that which is there already if there is some. When much may wait for the collector, or the device has no more, the
// collector runs before.
func (m *memory) alloc(c *cell, there runtime.Mem) error {
	m.drain()
	if m.since > 0 && m.since+c.bytes > max(m.most, leastWaiting) {
		m.collect()
	}
	var err error
	if there != nil {
		m.have(c, there)
	} else if err = m.take(c); isFull(err) {
		m.collect()
		err = m.take(c)
	}
	if err == nil {
		m.since += c.bytes
	}
	return err
}

// spared is told of bytes that do not wait for the collector any more.
func (m *memory) spared(bytes int64) { m.since -= min(m.since, bytes) }

// watch has what waits collected when nothing was handed out for a while, so that a program that pauses gives its memory back.
func (e *Engine) watch() {
	m := &e.memory
	m.used = time.Now()
	if m.idle == nil {
		m.idle = time.AfterFunc(idleAfter, e.paused)
	}
}

// paused is called some time after memory was handed out.
func (e *Engine) paused() {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := &e.memory
	if e.closed || e.lost != nil {
		m.idle = nil
		return
	}
	if rest := idleAfter - time.Since(m.used); rest > 0 {
		m.idle.Reset(rest)
		return
	}
	m.idle = nil
	m.drain()
	if m.since >= idleWaiting {
		m.collect()
	}
}

// drop lets go of all that an engine has, which is being closed: the memory of arrays, although a program may refer to them still, and
// all that refers to nodes. The collector is to tell the engine of arrays that are gone, so it keeps the engine, and with it what that refers to,
// until each of them is.
func (e *Engine) drop() {
	m := &e.memory
	for _, c := range m.cells {
		c.number, c.now = 0, nil
		m.release(c)
	}
	m.cells = nil
	m.freeMu.Lock()
	m.free, m.over = nil, true
	m.freeMu.Unlock()
	if m.idle != nil {
		m.idle.Stop()
		m.idle = nil
	}
	for _, p := range e.plans {
		p.unload()
	}
	e.forgetRefits()
	clear(e.plans)
	clear(e.kernels)
	clear(e.entries)
	clear(e.families)
	clear(e.sizes)
	clear(e.alike)
	clear(e.tuning.known)
	e.eager, e.foreseen = knownGraphs{}, foreseen{}
	e.bodies.Lock()
	e.bodies.kept, e.bodies.gone = nil, nil
	e.bodies.Unlock()
	uop.EndGeneration()
	uop.EndGeneration()
}
