package onnx

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	_ "image/gif" // a format of pictures
	_ "image/png" // a format of pictures
	"io"
)

// picture is rows of pixels, three bytes each.
type picture struct {
	h, w int
	rgb  []byte
}

const mostPixels = 1 << 26

func (p *picture) check() error {
	if p.h < 1 || p.w < 1 || p.w > mostPixels/p.h {
		return fmt.Errorf("a picture of %d by %d", p.w, p.h)
	}
	return nil
}

func decodePicture(r io.Reader, raw []byte) (*picture, error) {
	switch {
	case bytes.HasPrefix(raw, []byte("BM")):
		return decodeBMP(raw)
	case bytes.HasPrefix(raw, []byte("P6")):
		return decodePNM(raw)
	}
	if bytes.HasPrefix(raw, []byte{0xff, 0xd8}) {
		return nil, &NotYetError{"JPEG, of which decoders make different pixels, as those that recorded the tests do"}
	}
	conf, _, err := image.DecodeConfig(bytes.NewReader(raw))
	if err == image.ErrFormat {
		return nil, &NotYetError{"pictures of this format"}
	}
	if err != nil {
		return nil, err
	}
	p := &picture{h: conf.Height, w: conf.Width}
	if err := p.check(); err != nil {
		return nil, err
	}
	img, _, err := image.Decode(r)
	if err != nil {
		return nil, err
	}
	b := img.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			r, g, b, _ := img.At(x, y).RGBA()
			p.rgb = append(p.rgb, byte(r>>8), byte(g>>8), byte(b>>8))
		}
	}
	return p, nil
}

// decodeBMP reads pixels of 24 or 32 bits without compression.
func decodeBMP(raw []byte) (*picture, error) {
	if len(raw) < 54 {
		return nil, fmt.Errorf("a BMP of %d bytes", len(raw))
	}
	u32 := func(at int) int { return int(int32(binary.LittleEndian.Uint32(raw[at:]))) }
	p := &picture{w: u32(18), h: u32(22)}
	up := p.h > 0 // rows from the bottom
	p.h = max(p.h, -p.h)
	bits, start := int(binary.LittleEndian.Uint16(raw[28:])), u32(10)
	if err := p.check(); err != nil {
		return nil, err
	}
	if u32(30) != 0 || bits != 24 && bits != 32 {
		return nil, &NotYetError{fmt.Sprintf("BMP of %d bits or compressed", bits)}
	}
	stride := (p.w*bits/8 + 3) / 4 * 4
	if start < 0 || start > len(raw) || stride*p.h > len(raw)-start {
		return nil, fmt.Errorf("a BMP of %d by %d in %d bytes", p.w, p.h, len(raw))
	}
	for y := range p.h {
		row := y
		if up {
			row = p.h - 1 - y
		}
		line := raw[start+row*stride:]
		for x := range p.w {
			px := line[x*bits/8:]
			p.rgb = append(p.rgb, px[2], px[1], px[0])
		}
	}
	return p, nil
}

// decodePNM reads a portable pixmap of bytes.
func decodePNM(raw []byte) (*picture, error) {
	p := &picture{}
	most := 0
	r := bytes.NewReader(raw[2:])
	if _, err := fmt.Fscan(r, &p.w, &p.h, &most); err != nil {
		return nil, fmt.Errorf("a PNM without sizes: %w", err)
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	if most != 255 {
		return nil, &NotYetError{fmt.Sprintf("PNM up to %d", most)}
	}
	if _, err := r.ReadByte(); err != nil || r.Len() < 3*p.w*p.h {
		return nil, fmt.Errorf("a PNM of %d by %d in %d bytes", p.w, p.h, len(raw))
	}
	p.rgb = raw[len(raw)-r.Len():][:3*p.w*p.h]
	return p, nil
}
