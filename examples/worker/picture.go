package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"strconv"
)

// side is the height and the width of pictures.
const side = 28

// readers make the bytes of a picture of a body, by its type.
var readers = map[string]func(body []byte) ([]byte, error){"image/png": readPNG, "application/json": readJSON}

// readPNG takes a picture of any colours. It looks at the size before there is memory for the pixels.
func readPNG(body []byte) ([]byte, error) {
	c, err := png.DecodeConfig(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if c.Width != side || c.Height != side {
		return nil, fmt.Errorf("it has %d × %d pixels, not %d × %[3]d", c.Width, c.Height, side)
	}
	m, err := png.Decode(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if gray, ok := m.(*image.Gray); ok {
		return gray.Pix, nil
	}
	gray := image.NewGray(m.Bounds())
	draw.Draw(gray, m.Bounds(), m, m.Bounds().Min, draw.Src)
	return gray.Pix, nil
}

// readJSON takes {"image": [[…], …]}, 28 rows of 28 integers of 0 … 255.
func readJSON(body []byte) ([]byte, error) {
	if out, ok := readPlain(body); ok {
		return out, nil
	}
	var given struct {
		Image json.RawMessage `json:"image"`
	}
	if err := json.Unmarshal(body, &given); err != nil {
		return nil, err
	}
	return pixels(given.Image)
}

// readPlain takes what nearly all requests have, in one pass: no name but image, spelled like that, and nothing that is not as it should be. Package json takes longer
// for it than the rest of a request takes.
func readPlain(body []byte) ([]byte, bool) {
	at := 0
	next := func() (b byte) { // what comes next but for blanks; 0: the end
		for at < len(body) {
			b = body[at]
			at++
			if b != ' ' && b != '\n' && b != '\r' && b != '\t' {
				return b
			}
		}
		return 0
	}
	if next() != '{' || next() != '"' {
		return nil, false
	}
	if !bytes.HasPrefix(body[at:], []byte(`image"`)) {
		return nil, false
	}
	at += len(`image"`)
	if next() != ':' || next() != '[' {
		return nil, false
	}
	out := make([]byte, 0, side*side)
	for y := range side {
		if y > 0 && next() != ',' || next() != '[' {
			return nil, false
		}
		for x := range side {
			if x > 0 && next() != ',' {
				return nil, false
			}
			v := int(next()) - '0'
			if v < 0 || v > 9 {
				return nil, false
			}
			for v > 0 && v < 256 && at < len(body) && body[at] >= '0' && body[at] <= '9' { // a 0 has no digit behind it
				v = 10*v + int(body[at]-'0')
				at++
			}
			if v > 255 {
				return nil, false
			}
			out = append(out, byte(v))
		}
		if next() != ']' {
			return nil, false
		}
	}
	return out, next() == ']' && next() == '}' && next() == 0 && at == len(body)
}

// pixels reads the rows of what package json has found to be JSON. That package would take longer to make 784 integers than the rest of a
// request takes.
func pixels(text []byte) (out []byte, err error) {
	text, ok := bytes.CutPrefix(text, []byte("["))
	rows := bytes.Split(bytes.TrimSuffix(text, []byte("]")), []byte("]"))
	behind := rows[len(rows)-1] // the last row's end
	if rows = rows[:len(rows)-1]; !ok || len(rows) != side || len(bytes.TrimSpace(behind)) > 0 {
		return nil, fmt.Errorf(`"image" is not %d rows of numbers`, side)
	}
	for y, row := range rows {
		row, ok := bytes.CutPrefix(bytes.TrimLeft(row, ", \t\r\n"), []byte("["))
		numbers := bytes.Split(row, []byte(","))
		if !ok || len(numbers) != side {
			return nil, fmt.Errorf("row %d is not %d numbers", y, side)
		}
		for x, n := range numbers {
			v, err := strconv.ParseUint(string(bytes.TrimSpace(n)), 10, 8)
			if err != nil {
				return nil, fmt.Errorf("row %d has %.20s at %d; integers of 0 … 255 are possible", y, n, x)
			}
			out = append(out, byte(v))
		}
	}
	return out, nil
}
