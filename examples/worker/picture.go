package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/draw"
	"image/png"
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
	var given struct {
		Image [][]int `json:"image"`
	}
	if err := json.Unmarshal(body, &given); err != nil {
		return nil, err
	}
	if len(given.Image) != side {
		return nil, fmt.Errorf(`"image" has %d rows, not %d`, len(given.Image), side)
	}
	var out []byte
	for y, row := range given.Image {
		if len(row) != side {
			return nil, fmt.Errorf("row %d has %d numbers, not %d", y, len(row), side)
		}
		for x, v := range row {
			if v < 0 || v > 255 {
				return nil, fmt.Errorf("row %d has %d at %d; 0 … 255 are possible", y, v, x)
			}
			out = append(out, byte(v))
		}
	}
	return out, nil
}
