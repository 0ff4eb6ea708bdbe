package codegen

import (
	"encoding/binary"
	"hash/fnv"
	"strconv"
)

// Entry is a name for a kernel with this text: equal texts have equal names, and that others meet is as unlikely as
// for any 64 bits. The hash is a plain one, not a cryptographic one, which would weigh much in a web page.
func Entry(text ...string) string {
	h := fnv.New128a()
	for _, t := range text {
		h.Write([]byte(t))
		h.Write([]byte{0})
	}
	sum := h.Sum(nil)
	bits := binary.BigEndian.Uint64(sum) ^ binary.BigEndian.Uint64(sum[8:])
	s := strconv.FormatUint(bits, 16)
	return "k_" + "0000000000000000"[len(s):] + s
}
