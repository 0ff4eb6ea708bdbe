package main

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/png"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// file is a PNG of a header, rows as they are filtered, and what follows the pixels' chunk.
func file(header string, rows []byte, more ...string) []byte {
	out := []byte(signature)
	chunk := func(kind, data string) {
		out = binary.BigEndian.AppendUint32(out, uint32(len(data)))
		out = append(out, kind+data...)
		out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE([]byte(kind+data)))
	}
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write(rows)
	_ = z.Close()
	chunk("IHDR", header)
	chunk("IDAT", b.String())
	for _, kind := range more {
		chunk(kind, "")
	}
	chunk("IEND", "")
	return out
}

// filtered is rows of any bytes, filtered in the way that each begins with.
func filtered(seed uint64, ways int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	rows := make([]byte, 0, side*(1+side))
	for range side {
		rows = append(rows, byte(r.IntN(ways)))
		for range side {
			rows = append(rows, byte(r.Uint32()))
		}
	}
	return rows
}

// Gray pictures are what package png makes of them, whatever their filters.
func TestGray(t *testing.T) {
	for seed := range uint64(50) {
		body := file(header, filtered(seed, 5))
		m, err := png.Decode(bytes.NewReader(body))
		require.NoError(t, err)
		got, ok := readGray(body)
		require.True(t, ok)
		require.Equal(t, m.(*image.Gray).Pix, got)
	}
	sure := file(header, filtered(7, 5))
	for name, body := range map[string][]byte{
		"an unknown filter": file(header, append([]byte{5}, filtered(7, 5)[1:]...)), "rows too few": file(header, filtered(7, 5)[29:]),
		"bytes too many": file(header, append(filtered(7, 5), 0)), "two pieces": file(header, filtered(7, 5), "IDAT"), "nothing": nil,
		"16 bits": file(header[:8]+"\x10"+header[9:], filtered(7, 5)), "an end that is missing": sure[:len(sure)-12],
	} {
		_, ok := readGray(body)
		assert.False(t, ok, name)
	}
	for at := range len(sure) - 12 { // each chunk has a checksum
		damaged := bytes.Clone(sure)
		damaged[at] ^= 0x10
		_, ok := readGray(damaged)
		require.False(t, ok, "byte %d", at)
	}
}

// What is taken for a picture is what package png reads, in the same pixels.
func FuzzGray(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(file(header, filtered(seed, 5)))
	}
	f.Add(file(header, filtered(1, 9)))
	f.Add(file(header, nil, "tRNS"))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, ok := readGray(body)
		if !ok {
			return
		}
		m, err := png.Decode(bytes.NewReader(body))
		require.NoError(t, err)
		require.Equal(t, m.(*image.Gray).Pix, got)
	})
}
