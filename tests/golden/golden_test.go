// Package golden plays one corpus of plans on the NULL device and, with a fake of navigator.gpu under Node, with the
// player of pages: both must do the same.
//
// The corpus is plans written by hand for what a plan can say, and plans of networks as the engine writes them.
package golden

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/plan"
	"github.com/weft-ml/weft/runtime"
	"github.com/weft-ml/weft/runtime/null"
	"github.com/weft-ml/weft/runtime/webgpu"
	"github.com/weft-ml/weft/runtime/webgpu/page"
	need "github.com/weft-ml/weft/tests/require"
)

var ctx = context.Background()

var update = flag.Bool("update", false, "write the traces of the plans by hand")

// golden is a plan and the variables of its plays.
type golden struct {
	name  string
	plan  *plan.Plan
	plays [][]int32
}

// player runs play.mjs on packed plans and gives what it prints.
func player(t *testing.T, packed [][]byte, plays [][][]int32) string {
	node, err := exec.LookPath("node")
	need.Device(t, "NODE", err)
	dir := t.TempDir()
	for i := range packed {
		list := plays[i]
		for k := range list {
			list[k] = append([]int32{}, list[k]...) // null is no list
		}
		vars, err := json.Marshal(list)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.plan", i)), packed[i], 0o666))
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.json", i)), vars, 0o666))
	}
	return script(t, node, "testdata/play.mjs", dir)
}

// script runs a program of ours under Node, with the player in a folder and the folder.
func script(t *testing.T, node, name, dir string) string {
	text, err := os.ReadFile(filepath.Join(need.Root(t), "runtime/webgpu/page/player.js"))
	require.NoError(t, err)
	module := filepath.Join(dir, "player.mjs")
	require.NoError(t, os.WriteFile(module, text, 0o666))
	var stderr bytes.Buffer
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, name, module, dir)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", &stderr)
	return string(out)
}

// A browser that never gives an adapter would keep a page waiting for ever.
func TestSilentBrowser(t *testing.T) {
	node, err := exec.LookPath("node")
	need.Device(t, "NODE", err)
	assert.Contains(t, script(t, node, "testdata/silent.mjs", t.TempDir()), "did not answer within 0.05 s")
}

// walk plays a plan on the NULL device and gives its trace in the form of play.mjs.
func walk(t *testing.T, g golden) string {
	d := null.Open(null.Options{})
	l, err := d.Load(ctx, g.plan)
	require.NoError(t, err, g.name)
	args := make([]runtime.Mem, g.plan.Args())
	for _, m := range g.plan.Memory {
		if m.Kind != plan.Arena {
			args[m.Arg], err = d.Alloc(m.Bytes)
			require.NoError(t, err, g.name)
		}
	}
	for _, vars := range g.plays {
		require.NoError(t, d.Play(l, args, vars), g.name)
	}
	return same(g, d.Trace())
}

var (
	header  = regexp.MustCompile(`^play (\d+) steps, arena \d+(.*)$`)
	value   = regexp.MustCompile(`, \S+ = (-?\d+)`)
	slot    = regexp.MustCompile(`\*?((?:arena|input|output|state)\d*)\[(\d+)\+(\d+)\]`)
	threads = regexp.MustCompile(` ×\d+`)
	later   = regexp.MustCompile(` part \S+ from (\d+)`)
)

// same brings a trace of NULL into the player's form: workgroups for threads, whole words, a star where a binding may be
// written, nothing where a slot is empty. Launches of no workgroup and copies of no bytes are not told to a GPU.
func same(g golden, trace string) string {
	var out strings.Builder
	step := 0
	for text := range strings.Lines(trace) {
		text = strings.TrimSuffix(text, "\n")
		if m := header.FindStringSubmatch(text); m != nil {
			step = 0
			fmt.Fprintf(&out, "play %s steps%s\n", m[1], value.ReplaceAllString(m[2], " $1"))
			continue
		}
		if m := later.FindStringSubmatch(text); m != nil && m[1] != "0" {
			step-- // another part of the launch
		}
		s := g.plan.Steps[step]
		step++
		var k *plan.Kernel
		if s.Kind == plan.Launch {
			if k = &g.plan.Kernels[s.Kernel]; k.Grid[0] == 0 {
				continue
			}
			if k.Parts != nil {
				text = threads.ReplaceAllString(text, "")
			}
			text = threads.ReplaceAllString(text, fmt.Sprintf(" %d×%d×%d", k.Grid[0], k.Grid[1], k.Grid[2]))
		} else if g.plan.Slots[s.Slots[0]].Bytes == 0 {
			continue
		}
		i := 0
		text = slot.ReplaceAllStringFunc(text, func(word string) string {
			m := slot.FindStringSubmatch(word)
			n, _ := strconv.Atoi(m[3])
			star := ""
			if k != nil && (k.Binds[i].Write || k.Binds[i].Mutable) || k == nil && i == 0 {
				star = "*"
			}
			i++
			if n == 0 {
				return star + "nothing"
			}
			return fmt.Sprintf("%s%s[%s+%d]", star, m[1], m[2], (n+3)&^3)
		})
		fmt.Fprintln(&out, text)
	}
	return out.String()
}

// The player does what the NULL device writes down, and the traces of the plans by hand are as they were.
func TestTraces(t *testing.T) {
	corpus := append(written(), compiled(t)...)
	var packed [][]byte
	var plays [][][]int32
	var want strings.Builder
	byHand := ""
	for i, g := range corpus {
		packed, plays = append(packed, page.Pack(g.plan)), append(plays, g.plays)
		want.WriteString(walk(t, g))
		if i == len(written())-1 {
			byHand = want.String()
		}
	}
	if *update {
		require.NoError(t, os.WriteFile("testdata/written.trace", []byte(byHand), 0o666))
	}
	kept, err := os.ReadFile("testdata/written.trace")
	require.NoError(t, err)
	assert.Equal(t, string(kept), byHand, "if that is meant: go test ./tests/golden -update")
	got := player(t, packed, plays)
	assert.Equal(t, want.String(), got)
	launches := strings.Count(got, "\nlaunch ")
	t.Logf("%d plans, %d launches", len(corpus), launches)
	assert.Greater(t, launches, 20)
}

// A version or a step that is not known is refused in words, by both.
func TestUnknownIsRefused(t *testing.T) {
	good := written()[0]
	d := null.Open(null.Options{})

	newer := *good.plan
	newer.Version++
	_, err := d.Load(ctx, &newer)
	assert.ErrorContains(t, err, fmt.Sprintf("it has version %d and this program plays version %d", plan.Version+1, plan.Version))

	odd := *good.plan
	odd.Steps = append(slices.Clone(odd.Steps), plan.Step{Kind: 77, Slots: []int{0, 1}})
	_, err = d.Load(ctx, &odd)
	assert.ErrorContains(t, err, "unknown kind 77")

	packed := page.Pack(good.plan)
	packed[0]++
	out := player(t, [][]byte{page.Pack(&odd)}, [][][]int32{good.plays})
	assert.Contains(t, out, "this player knows no step of kind 77")
	out = player(t, [][]byte{packed}, [][][]int32{good.plays})
	assert.Contains(t, out, fmt.Sprintf("this player plays plans of version %d, and this one has version %d", page.Version, page.Version+1))
}

// The numbers that the player's source repeats are those of package plan.
func TestPlayersNumbers(t *testing.T) {
	script, err := os.ReadFile(filepath.Join(need.Root(t), "runtime/webgpu/page/player.js"))
	require.NoError(t, err)
	for name, want := range map[string]int{
		"version": page.Version, "ARENA": int(plan.Arena), "LAUNCH": int(plan.Launch), "COPY": int(plan.Copy),
	} {
		m := regexp.MustCompile(`(?m)^(?:export )?const ` + name + ` = (\d+)`).FindSubmatch(script)
		if assert.NotNil(t, m, "player.js has no constant %s", name) {
			assert.Equal(t, strconv.Itoa(want), string(m[1]), name)
		}
	}
	assert.Equal(t, "wgsl", webgpu.Target)
}
