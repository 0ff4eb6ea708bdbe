package networks

import "encoding/binary"

// message is a message of protocol buffers, as far as it was written (https://protobuf.dev/programming-guides/encoding).
type message []byte

func (m message) number(field int, n int64) message {
	return binary.AppendUvarint(binary.AppendUvarint(m, uint64(field)<<3), uint64(n))
}

func (m message) bytes(field int, b []byte) message {
	m = binary.AppendUvarint(m, uint64(field)<<3|2)
	return append(binary.AppendUvarint(m, uint64(len(b))), b...)
}

func (m message) text(field int, list ...string) message {
	for _, s := range list {
		m = m.bytes(field, []byte(s))
	}
	return m
}

func (m message) messages(field int, list ...message) message {
	for _, b := range list {
		m = m.bytes(field, b)
	}
	return m
}

// Attributes of nodes; the number in field 20 is the kind.

func whole(name string, n int) message {
	return message{}.text(1, name).number(3, int64(n)).number(20, 2)
}

func wholes(name string, list ...int) message {
	m := message{}.text(1, name)
	for _, n := range list {
		m = m.number(8, int64(n))
	}
	return m.number(20, 7)
}
