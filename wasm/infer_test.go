package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/weft-ml/weft/tensor"
	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/wasm/wire"
)

// inferred is a call of a page: what the engine gets, and what the page knows of the results without it.
type inferred struct {
	Number                    int
	Name, Text, Error, Refuse string
	Outs                      []wire.Ref
	Forms                     []struct {
		Shape      []int
		DType, Why string
	}
	Batch []byte
}

func (i *inferred) UnmarshalJSON(data []byte) error {
	type plain inferred
	v := struct {
		*plain
		Batch string
	}{plain: (*plain)(i)}
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	var err error
	i.Batch, err = base64.StdEncoding.DecodeString(v.Batch)
	return err
}

// What a page knows of shapes and types at once is what the engine finds, of every method of the table, for random arguments; and what
// the page refuses the engine refuses too, in the same words. WEFT_FACE_SHAPES=2000 tries so many calls of each method from a fresh seed.
func TestShapesAreKnownInThePage(t *testing.T) {
	node, err := exec.LookPath("node")
	need.Device(t, "NODE", err)
	if testing.Short() {
		t.Skip("calls every method 40 times, from one goroutine")
	}
	seed, tries := 1, 40
	if text := os.Getenv("WEFT_FACE_SHAPES"); text != "" {
		tries, err = strconv.Atoi(text)
		require.NoError(t, err)
		seed = os.Getpid()
	}
	if text := os.Getenv("WEFT_FACE_SEED"); text != "" {
		seed, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	dir := t.TempDir() // as a build has them, side by side
	for _, name := range []string{"js/*.js", "testdata/infer.mjs", "../runtime/wasm/page/lent.js", "../runtime/wasm/page/threads.js", "../runtime/wasm/page/guest.js"} {
		scripts, err := filepath.Glob(name)
		require.NoError(t, err)
		for _, from := range scripts {
			data, err := os.ReadFile(from)
			require.NoError(t, err)
			to := filepath.Join(dir, "js", filepath.Base(from))
			require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o777))
			require.NoError(t, os.WriteFile(to, data, 0o666))
		}
	}
	cmd := exec.Command(node, filepath.Join(dir, "js", "infer.mjs"), strconv.Itoa(seed), strconv.Itoa(tries))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	c := newClient(t)
	right, wrong, seen := map[string]int{}, map[string]int{}, map[string]int{}
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		if len(line) == 1 {
			continue
		}
		var q inferred
		require.NoError(t, json.Unmarshal(line, &q), "%s", line)
		seen[q.Name]++
		if len(q.Outs) == 0 {
			continue
		}
		c.handle(context.Background(), q.Batch)
		if why := c.differs(q); why != "" {
			t.Errorf("%s: %s (WEFT_FACE_SEED=%d)", q.Text, why, seed)
		} else if q.Error != "" {
			wrong[q.Name]++
		} else if _, failed := c.tensors[q.Outs[0]].(*failure); !failed {
			right[q.Name]++
		}
	}
	require.NoError(t, cmd.Wait())
	var few []string
	for name, op := range operations {
		if !slices.Contains([]string{"vmap", "scan", "jvp", "vjp", "checkpoint", "function", "custom", "from", "kernelAt", "kernelRange", "kernelLoad", "kernelReduce", "setAt", "assign", "addAssign", "subAssign", "mulAssign", "divAssign", "replace", "own", "moveTo", "shardTo", "customUnsafe"}, name) && op != nil && right[name] < 3 {
			few = append(few, fmt.Sprintf("%s %d of %d", name, right[name], seen[name]))
		}
	}
	sort.Strings(few)
	assert.Empty(t, few, "these were hardly ever called rightly")
	total := func(m map[string]int) (n int) {
		for _, k := range m {
			n += k
		}
		return n
	}
	t.Logf("%d calls of %d methods from seed %d: %d right, %d refused at once", total(seen), len(right), seed, total(right), total(wrong))
}

// exactly are methods whose mistakes page and engine tell in the same words, whatever comes. Others the engine makes of several steps, of which
// one may find another mistake first.
var exactly = []string{"add", "mul", "maximum", "div", "eq", "matmul", "reshape", "expand", "permute", "cat", "stack", "linear", "sum", "mean", "max", "select", "narrow", "split", "transpose", "unsqueeze"}

// differs says in what the page and the engine do not agree.
func (c *client) differs(q inferred) string {
	if len(q.Outs) == 0 {
		return ""
	}
	first := c.tensors[q.Outs[0]]
	if q.Error != "" {
		f, failed := first.(*failure)
		if !failed {
			return fmt.Sprintf("the page says %q, and the engine does it", q.Error)
		}
		want, _ := describeError(f).Get("message").(string)
		if !strings.HasPrefix(want, q.Name+": ") {
			want = q.Name + ": " + want
		}
		if slices.Contains(exactly, q.Name) && want != q.Error {
			return fmt.Sprintf("the page says %q, the engine %q", q.Error, want)
		}
		return ""
	}
	if _, failed := first.(*failure); failed {
		return ""
	}
	for i, ref := range q.Outs {
		x, ok := c.tensors[ref].(*tensor.Tensor)
		if !ok {
			return fmt.Sprintf("result %d is missing", i)
		}
		form := q.Forms[i]
		if form.Why == "" && !slices.Equal(form.Shape, x.Shape()) || form.DType != typeName(x.DType()) {
			return fmt.Sprintf("result %d is %v %s in the page and %v %s in the engine", i, form.Shape, form.DType, x.Shape(), typeName(x.DType()))
		}
	}
	return ""
}
