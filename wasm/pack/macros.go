package main

// Go's code is full of rows of instructions that are always the same: how a call begins, how an address is made. Each
// of those that save most gets a byte that no instruction begins with, one after the other, so that a macro may stand
// for others before it. A compressor finds such rows as well, but has to say each time how far back they were; and what
// follows one is easier to foretell behind a single byte.

const (
	firstMacro = 0xc5 // behind the last instruction that Go writes
	lastMacro  = 0xdf
	frequent   = 256  // an instruction must be as frequent to be part of a macro
	lookedAt   = 1024 // no more instructions than these are looked at
	longest    = 64   // a macro has at most as many instructions: unpack.js keeps room for as many
)

// shorten writes a packed code section: how many functions there are; the macros, each with its length; the functions.
func shorten(bodies []body) []byte {
	s := newShortener(bodies)
	var macros [][]byte
	for code := firstMacro; code <= lastMacro; code++ {
		row := s.macro(byte(code))
		if row == nil {
			break
		}
		macros = append(macros, row)
	}
	out := appendUint(nil, uint64(len(bodies)))
	out = appendUint(out, uint64(len(macros)))
	for _, m := range macros {
		out = append(appendUint(out, uint64(len(m))), m...)
	}
	at := 0
	for _, b := range bodies {
		out = append(out, b.locals...)
		for ; s.code[at] != functionEnd; at++ {
			out = append(out, s.text[s.code[at]]...)
		}
		at++
	}
	return out
}

const functionEnd = -1

// shortener is all code: a row of numbers of instructions, and the text of each number.
type shortener struct {
	code  []int32
	text  [][]byte
	place []int32 // of a number among those looked at; −1: not looked at
	known []int32 // those looked at
	width []int   // how many instructions a number stands for
}

func newShortener(bodies []body) *shortener {
	s := &shortener{}
	numbers := map[string]int32{}
	var count []int
	for _, b := range bodies {
		for _, i := range b.code {
			n, ok := numbers[string(i)]
			if !ok {
				n = int32(len(s.text))
				numbers[string(i)] = n
				s.text, s.width = append(s.text, i), append(s.width, 1)
				count = append(count, 0)
			}
			count[n]++
			s.code = append(s.code, n)
		}
		s.code = append(s.code, functionEnd)
	}
	for n, t := range s.text {
		s.place = append(s.place, -1)
		// Tables of branches are long, and unpacked apart.
		if count[n] >= frequent && t[0] != 0x0e && len(s.known) < lookedAt {
			s.place[n] = int32(len(s.known))
			s.known = append(s.known, int32(n))
		}
	}
	return s
}

// macro replaces what saves most bytes, one long instruction or two that follow each other, by a byte, and gives what
// it stands for; nil if nothing saves more than the macro costs.
func (s *shortener) macro(code byte) []byte {
	n := len(s.known)
	ones, twos := make([]int, n), make([]int, n*n)
	last := int32(-1)
	for _, c := range s.code {
		p := int32(-1)
		if c != functionEnd {
			p = s.place[c]
		}
		if p >= 0 {
			ones[p]++
			if last >= 0 {
				twos[int(last)*n+int(p)]++
			}
		}
		last = p
	}
	const cost = 8
	best, a, b := cost, int32(-1), int32(-1)
	for p, c := range ones {
		if saved := c * (len(s.text[s.known[p]]) - 1); saved > best {
			best, a, b = saved, s.known[p], -1
		}
	}
	for at, c := range twos {
		if c == 0 {
			continue
		}
		x, y := s.known[at/n], s.known[at%n]
		if saved := c * (len(s.text[x]) + len(s.text[y]) - 1); saved > best && s.width[x]+s.width[y] <= longest {
			best, a, b = saved, x, y
		}
	}
	if a < 0 {
		return nil
	}
	if b < 0 {
		row := s.text[a]
		s.text[a] = []byte{code}
		return row
	}
	number := int32(len(s.text))
	s.text, s.width = append(s.text, []byte{code}), append(s.width, s.width[a]+s.width[b])
	s.place = append(s.place, int32(n))
	s.known = append(s.known, number)
	s.join(a, b, number)
	return append(append([]byte{}, s.text[a]...), s.text[b]...)
}

// join puts number where a is followed by b.
func (s *shortener) join(a, b, number int32) {
	out := s.code[:0]
	for at := 0; at < len(s.code); at++ {
		if s.code[at] == a && at+1 < len(s.code) && s.code[at+1] == b {
			out = append(out, number)
			at++
		} else {
			out = append(out, s.code[at])
		}
	}
	s.code = out
}
