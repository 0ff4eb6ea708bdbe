package safetensors

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/weft-ml/weft/weights"
)

// header is a parsed header: the tensors in the order of their data, and the metadata.
type header struct {
	names []string
	infos map[string]Info
	at    map[string]int64 // of their data in the file
	meta  map[string]string
}

// parseHeader reads the JSON of a header. Offsets in it count from base, where size bytes of
// data lie; the tensors must cover them without overlap or hole.
func parseHeader(path string, raw []byte, base, size int64) (*header, error) {
	fail := func(tensor string, err error) error {
		return &Error{Path: path, Tensor: tensor, Cause: "bad header", Err: err}
	}
	if len(raw) == 0 || raw[0] != '{' {
		return nil, fail("", errors.New("it does not begin with '{'"))
	}
	if !utf8.Valid(raw) {
		return nil, fail("", errors.New("it is not valid UTF-8"))
	}
	p := &parser{dec: json.NewDecoder(bytes.NewReader(raw))}
	p.dec.UseNumber()
	h := &header{infos: map[string]Info{}, at: map[string]int64{}}
	begin := map[string]int64{}
	err := p.object(func(name string) error {
		if name == metaKey {
			var err error
			h.meta, err = p.metadata()
			return err
		}
		info, offsets, err := p.tensor()
		if err != nil {
			return fmt.Errorf("tensor %.100q: %w", name, err)
		}
		want, err := weights.Size(info.DType, info.Shape)
		switch {
		case err != nil:
		case offsets[0] > offsets[1]:
			err = fmt.Errorf("data_offsets %v end before they begin", offsets)
		case offsets[1] > size:
			err = fmt.Errorf("data_offsets %v reach beyond the %d bytes of data", offsets, size)
		case offsets[1]-offsets[0] != want:
			err = fmt.Errorf("data_offsets %v span %d bytes, %s of shape %v needs %d", offsets, offsets[1]-offsets[0], info.DType, info.Shape, want)
		}
		if err != nil {
			return fmt.Errorf("tensor %.100q: %w", name, err)
		}
		info.Bytes = want
		h.infos[name], h.at[name], begin[name] = info, base+offsets[0], offsets[0]
		h.names = append(h.names, name)
		return nil
	})
	if err == nil {
		err = p.end(raw)
	}
	if err != nil {
		return nil, fail("", err)
	}

	slices.SortStableFunc(h.names, func(a, b string) int { // empty ones first
		return cmp.Or(cmp.Compare(begin[a], begin[b]), cmp.Compare(h.infos[a].Bytes, h.infos[b].Bytes), cmp.Compare(a, b))
	})
	at := int64(0)
	for _, name := range h.names {
		switch {
		case begin[name] < at:
			return nil, fail(name, fmt.Errorf("its data at %d overlaps other data that ends at %d", begin[name], at))
		case begin[name] > at:
			return nil, fail(name, fmt.Errorf("%d bytes before its data at %d belong to no tensor", begin[name]-at, begin[name]))
		}
		at += h.infos[name].Bytes
	}
	if at != size {
		return nil, fail("", fmt.Errorf("the last %d of %d bytes of data belong to no tensor", size-at, size))
	}
	return h, nil
}

// parser reads JSON token by token: that shows keys that occur twice, and needs no memory for
// values that are refused.
type parser struct{ dec *json.Decoder }

func (p *parser) token() (json.Token, error) {
	t, err := p.dec.Token()
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("at byte %d: %w", p.dec.InputOffset(), err)
	}
	return t, nil
}

func (p *parser) expect(want json.Delim) error {
	t, err := p.token()
	if err == nil && t != want {
		err = fmt.Errorf("at byte %d: %.64v where %v belongs", p.dec.InputOffset(), t, want)
	}
	return err
}

// object reads an object and calls field for each key to read its value.
func (p *parser) object(field func(key string) error) error {
	if err := p.expect('{'); err != nil {
		return err
	}
	seen := map[string]bool{}
	for p.dec.More() {
		t, err := p.token()
		if err != nil {
			return err
		}
		key := t.(string) // the decoder lets nothing else be a key
		if seen[key] {
			return fmt.Errorf("at byte %d: %.100q occurs twice", p.dec.InputOffset(), key)
		}
		seen[key] = true
		if err := field(key); err != nil {
			return err
		}
	}
	return p.expect('}')
}

func (p *parser) text() (string, error) {
	t, err := p.token()
	if err != nil {
		return "", err
	}
	s, ok := t.(string)
	if !ok {
		return "", fmt.Errorf("at byte %d: %.64v where text belongs", p.dec.InputOffset(), t)
	}
	return s, nil
}

func (p *parser) metadata() (map[string]string, error) {
	meta := map[string]string{}
	err := p.object(func(key string) (err error) {
		meta[key], err = p.text()
		return err
	})
	if err != nil {
		err = fmt.Errorf("%s: %w", metaKey, err)
	}
	return meta, err
}

// ints reads an array of at most limit non-negative integers.
func (p *parser) ints(limit int) ([]int64, error) {
	if err := p.expect('['); err != nil {
		return nil, err
	}
	out := []int64{}
	for p.dec.More() {
		t, err := p.token()
		if err != nil {
			return nil, err
		}
		n, ok := t.(json.Number)
		v, err := strconv.ParseInt(string(n), 10, 64)
		if !ok || err != nil || v < 0 {
			return nil, fmt.Errorf("at byte %d: %.64v is no size below 2^63", p.dec.InputOffset(), t)
		}
		if len(out) == limit {
			return nil, fmt.Errorf("at byte %d: more than %d numbers", p.dec.InputOffset(), limit)
		}
		out = append(out, v)
	}
	return out, p.expect(']')
}

func (p *parser) tensor() (info Info, offsets []int64, err error) {
	err = p.object(func(key string) (err error) {
		switch key {
		case "dtype":
			info.DType, err = p.text()
		case "shape":
			info.Shape, err = p.ints(weights.MaxRank)
		case "data_offsets":
			if offsets, err = p.ints(2); err == nil && len(offsets) != 2 {
				err = fmt.Errorf("data_offsets has %d numbers, not 2", len(offsets))
			}
		default:
			err = fmt.Errorf("at byte %d: unknown field %.64q", p.dec.InputOffset(), key)
		}
		return err
	})
	switch {
	case err != nil:
	case info.DType == "":
		err = errors.New("no dtype")
	case info.Shape == nil:
		err = errors.New("no shape")
	case offsets == nil:
		err = errors.New("no data_offsets")
	}
	return info, offsets, err
}

// end checks that only the padding of the format, spaces, follows.
func (p *parser) end(raw []byte) error {
	at := p.dec.InputOffset()
	if rest := bytes.TrimLeft(raw[at:], " "); len(rest) > 0 {
		return fmt.Errorf("at byte %d: %.16q follows the header", at, rest)
	}
	return nil
}
