package tensor

import (
	"context"
	"encoding/binary"
	mathbits "math/bits"

	"github.com/weft-ml/weft/dtype"
)

// KeccakKind names a function of the Keccak family (FIPS 202).
type KeccakKind uint8

// The kinds of Keccak, with the length of what they give in bytes.
const (
	SHA3_256 KeccakKind = 0 // 32
	SHA3_224 KeccakKind = 1 // 28
	SHA3_384 KeccakKind = 2 // 48
	SHA3_512 KeccakKind = 3 // 64
	SHAKE128 KeccakKind = 4 // 16, the first of its output
	SHAKE256 KeccakKind = 5 // 32, the first of its output
)

// sponges have, for each kind: how many bytes a round takes in, the bits that end a message, how many bytes come out.
var sponges = [...]struct {
	rate   int
	suffix byte
	size   int
}{
	SHA3_256: {136, 0x06, 32}, SHA3_224: {144, 0x06, 28}, SHA3_384: {104, 0x06, 48}, SHA3_512: {72, 0x06, 64},
	SHAKE128: {168, 0x1f, 16}, SHAKE256: {136, 0x1f, 32},
}

// Keccak hashes the bytes of each row, the last axis of t (a scalar is one row): [rows…, n] of any type gives uint8 [rows…, length].
// Elements are little-endian, a bool is a byte. It computes t and hashes on the host, one row after the other: it is for keys and
// checks, not for speed.
func (t *Tensor) Keccak(ctx context.Context, kind KeccakKind) (*Tensor, error) {
	if int(kind) >= len(sponges) {
		failArg("Keccak", "kind %d", kind)
	}
	data, err := t.Bytes(ctx)
	if err != nil {
		return nil, err
	}
	lead, size := t.Shape(), t.Nbytes()
	if len(lead) > 0 {
		size = lead[len(lead)-1] * t.DType().Size()
		lead = lead[:len(lead)-1]
	}
	var out []byte
	for i := range prod(lead) {
		out = append(out, keccak(kind, data[i*size:(i+1)*size])...)
	}
	return t.beside(dtype.U8, append(lead, sponges[kind].size), out), nil
}

// Hash is SHA3-256 of all bytes of t, row-major, elements little-endian, a bool a byte. Neither shape nor type are part of it. It
// computes t.
func (t *Tensor) Hash(ctx context.Context) ([32]byte, error) {
	data, err := t.Bytes(ctx)
	if err != nil {
		return [32]byte{}, err
	}
	return [32]byte(keccak(SHA3_256, data)), nil
}

// keccak takes data in, a block at a time, and gives the first bytes of the state.
func keccak(kind KeccakKind, data []byte) []byte {
	s := sponges[kind]
	var state [25]uint64
	block := make([]byte, s.rate)
	for last := false; !last; {
		n := copy(block, data)
		data = data[n:]
		if last = n < s.rate; last {
			clear(block[n:])
			block[n] ^= s.suffix
			block[s.rate-1] ^= 0x80
		}
		for i := range s.rate / 8 {
			state[i] ^= binary.LittleEndian.Uint64(block[8*i:])
		}
		permute(&state)
	}
	var out []byte
	for _, w := range state[:(s.size+7)/8] {
		out = binary.LittleEndian.AppendUint64(out, w)
	}
	return out[:s.size]
}

// permute is Keccak-f[1600]: 24 rounds on 5×5 words, word x, y at x + 5y.
func permute(a *[25]uint64) {
	shift := byte(1) // the register that the round constants come from
	for range 24 {
		var sums [5]uint64
		for i, w := range a {
			sums[i%5] ^= w
		}
		for i := range a {
			a[i] ^= sums[(i+4)%5] ^ mathbits.RotateLeft64(sums[(i+1)%5], 1)
		}
		x, y, moved := 1, 0, a[1]
		for t := 1; t <= 24; t++ {
			x, y = y, (2*x+3*y)%5
			a[x+5*y], moved = mathbits.RotateLeft64(moved, t*(t+1)/2), a[x+5*y]
		}
		for y := 0; y < 25; y += 5 {
			row := [5]uint64(a[y : y+5])
			for x := range row {
				a[y+x] = row[x] ^ ^row[(x+1)%5]&row[(x+2)%5]
			}
		}
		for j := range 7 {
			if shift&1 == 1 {
				a[0] ^= 1 << (1<<j - 1)
			}
			top := shift >> 7
			shift = shift<<1 ^ top*0x71
		}
	}
}
