package fuzz

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	_ "github.com/weft-ml/weft/backends"
	_ "github.com/weft-ml/weft/backends/webgpu"
)

func TestTmp(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("N"))
	from, _ := strconv.Atoi(os.Getenv("FROM"))
	b, _ := strconv.Atoi(os.Getenv("B"))
	dev := os.Getenv("DEV")
	start := time.Now()
	var c Count
	for i := 0; i < n; i += b {
		var seeds []uint64
		for k := range b {
			seeds = append(seeds, uint64(from+i+k))
		}
		for _, f := range runSeeds(dev, seeds, &c) {
			text := f.Text
			if len(text) > 600 {
				text = text[:600]
			}
			fmt.Println(f.Seed, f.What, text)
		}
	}
	fmt.Printf("%s %v %+v\n", dev, time.Since(start), c)
}

func TestTmpShow(t *testing.T) {
	from, _ := strconv.Atoi(os.Getenv("FROM"))
	graphs()
	g := Generate(uint64(from))
	fmt.Println(g.Program.Source())
	what, text := runAlone(os.Getenv("DEV"), g)
	fmt.Println(what, text)
}
