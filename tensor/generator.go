package tensor

import (
	"encoding/binary"
	"sync"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/uop"
)

// Random numbers come from threefry-2x32 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011), a
// function of a key and a counter: the same numbers on every device. Each call takes a key of its own, made on the host from the
// generator's seed and from how many words were drawn before, and hands it to the device as data, so that new numbers need no new
// kernel.

// Generator draws random numbers that follow from its seed and from how many were drawn from it before, and from nothing else.
// Its methods are the package's random functions; these, and the methods of Tensor that draw, use DefaultGenerator. The zero value
// has seed 0 and is ready. Any number of goroutines may use one; who wants the same numbers again gives each its own.
type Generator struct {
	_     [0]func() // not to be compared
	mu    sync.Mutex
	state GeneratorState
}

// GeneratorState is where a generator stands: with it, the numbers after it can be drawn again.
type GeneratorState struct {
	Seed  uint64
	Drawn uint64 // words of 32 bits since the seed was set
}

// NewGenerator makes a generator. Those of different seeds are independent of each other.
func NewGenerator(seed uint64) *Generator { return &Generator{state: GeneratorState{Seed: seed}} }

var defaultGenerator Generator

// DefaultGenerator is what is drawn from where no generator is named.
func DefaultGenerator() *Generator { return &defaultGenerator }

// Seed restarts the random numbers of DefaultGenerator.
func Seed(seed uint32) { defaultGenerator.Seed(uint64(seed)) }

// Seed restarts the random numbers.
func (g *Generator) Seed(seed uint64) { g.Restore(GeneratorState{Seed: seed}) }

// State is where the generator stands.
func (g *Generator) State() GeneratorState {
	g.mu.Lock()
	s := g.state
	g.mu.Unlock()
	return s
}

// Restore goes on from where a generator stood.
func (g *Generator) Restore(s GeneratorState) {
	g.mu.Lock()
	g.state = s
	g.mu.Unlock()
}

// orDefault is g, or the default generator where none is named.
func (g *Generator) orDefault() *Generator {
	if g == nil {
		return &defaultGenerator
	}
	return g
}

// stream is what the upper half of a seed's key differs by from the upper half of the seed.
const stream = 0x14b81119

// nextKey is the key of a draw of n words.
func (g *Generator) nextKey(n int) [2]uint32 {
	g.mu.Lock()
	s := g.state
	g.state.Drawn += uint64(n)
	g.mu.Unlock()
	return threefryHost([2]uint32{uint32(s.Drawn), uint32(s.Drawn >> 32)}, [2]uint32{uint32(s.Seed>>32) ^ stream, uint32(s.Seed)})
}

// keyBytes is a new key for a draw of n words, as it lies on a device.
func (g *Generator) keyBytes(n int) []byte {
	k := g.nextKey(n)
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, k[0]), k[1])
}

// draw is a draw of n words from a generator.
type draw struct {
	from *Generator
	n    int
}

// renewal has each run of a captured function find the key of another draw in a buffer.
func (d draw) renewal(key *uop.UOp) engine.Renewal {
	return engine.Renewal{Buffer: key, Bytes: func() []byte { return d.from.keyBytes(d.n) }, From: d}
}

// words are n random uint32 on a device, nil for the default one: the first half of each block, then the second.
func (g *Generator) words(on *engine.Engine, n int) *Tensor {
	first := func(e *engine.Engine) (*uop.UOp, error) { return e.FromBytes(dtype.U32, []int{2}, g.keyBytes(n)) }
	var key *Tensor
	if on == nil {
		key = onDefault("Rand", first)
	} else {
		u, err := first(on)
		if err != nil {
			failDevice("Rand", err)
		}
		key = newTensor(u, on)
	}
	engine.Renew(draw{g, n}.renewal(key.node())) // each run of a captured function
	half := (n + 1) / 2
	if half == 0 {
		return key.like(cut(key.node(), 0, 0, 0))
	}
	at := func(i int) *uop.UOp { return cut(key.node(), 0, i, i+1).Reshape() }
	i := iota(half, dtype.U32)
	x, y := threefry(i, i.Add(i.Int(half)), at(0), at(1))
	return key.like(cut(join([]*uop.UOp{x, y}, 0, 2*half), 0, 0, n))
}

// RandomBits is random words of 32 bits, uint32.
func RandomBits(shape ...int) *Tensor { return defaultGenerator.RandomBits(shape...) }

// RandomBits is random words of 32 bits, uint32.
func (g *Generator) RandomBits(shape ...int) *Tensor {
	checkSizes("RandomBits", shape)
	return g.words(nil, uop.Shape(shape).Numel()).Reshape(shape...)
}

// Threefry is the function that random numbers are made of, threefry-2x32 with 20 rounds: of counters t, uint64, and of a key, uint64
// or a number, that broadcast. The lower 32 bits of each are the first word and the upper 32 the second.
func (t *Tensor) Threefry(key any) *Tensor {
	return elementwise("Threefry", func(d dtype.DType) dtype.DType {
		if d != dtype.U64 {
			failType("Threefry", []dtype.DType{d}, "counters and keys must be uint64")
		}
		return d
	}, func(u []*uop.UOp) *uop.UOp {
		lo := func(x *uop.UOp) *uop.UOp { return x.Cast(dtype.U32) }
		hi := func(x *uop.UOp) *uop.UOp { return x.Shr(x.Int(32)).Cast(dtype.U32) }
		x, y := threefry(lo(u[0]), hi(u[0]), lo(u[1]), hi(u[1]))
		return joined(y, x)
	}, t, key)
}

// rotations of threefry-2x32, four rounds each in turn.
var rotations = [2][4]int{{13, 15, 26, 6}, {17, 29, 16, 24}}

// parity is the constant of the key schedule.
const parity = 0x1BD11BDA

func threefryHost(x, key [2]uint32) [2]uint32 {
	ks := [3]uint32{key[0], key[1], key[0] ^ key[1] ^ parity}
	a, b := x[0]+ks[0], x[1]+ks[1]
	for i := range 5 {
		for _, r := range rotations[i%2] {
			a += b
			b = b<<r | b>>(32-r)
			b ^= a
		}
		a += ks[(i+1)%3]
		b += ks[(i+2)%3] + uint32(i) + 1
	}
	return [2]uint32{a, b}
}

// threefry is the same on uint32 nodes.
func threefry(a, b, key0, key1 *uop.UOp) (x, y *uop.UOp) {
	ks := [3]*uop.UOp{key0, key1, key0.Xor(key1).Xor(key0.Int(parity))}
	a, b = a.Add(ks[0]), b.Add(ks[1])
	for i := range 5 {
		for _, r := range rotations[i%2] {
			a = a.Add(b)
			b = b.Shl(b.Int(r)).Or(b.Shr(b.Int(32 - r)))
			b = b.Xor(a)
		}
		a = a.Add(ks[(i+1)%3])
		b = b.Add(ks[(i+2)%3]).Add(b.Int(i + 1))
	}
	return a, b
}
