package browser_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	_ "github.com/weft-ml/weft/backends"
	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

func (v value) MarshalJSON() ([]byte, error) { return json.Marshal(map[string]int{"value": v.N}) }
func (o odd) MarshalJSON() ([]byte, error)   { return json.Marshal(map[string]string{"odd": o.Kind}) }

func (e typed) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"typed": jsName(e.Type), "values": e.Values})
}

func (o object) MarshalJSON() ([]byte, error) {
	fields := map[string]any{}
	for _, f := range o {
		fields[f.Name] = f.Value
	}
	return json.Marshal(map[string]any{"object": fields})
}

// javaScript writes an argument as a page's author would.
func javaScript(v any) string {
	list := func(vs []any) string {
		var out []string
		for _, v := range vs {
			out = append(out, javaScript(v))
		}
		return strings.Join(out, ", ")
	}
	switch v := v.(type) {
	case value:
		return fmt.Sprintf("t%d", v.N)
	case odd:
		switch v.Kind {
		case "other", "gone":
			return v.Kind
		}
		return odds[v.Kind]
	case []any:
		return "[" + list(v) + "]"
	case object:
		var out []string
		for _, f := range v {
			out = append(out, f.Name+": "+javaScript(f.Value))
		}
		return "{" + strings.Join(out, ", ") + "}"
	case typed:
		text := strings.ReplaceAll(strings.Trim(fmt.Sprint(v.Values), "[]"), " ", ", ")
		if v.Type == dtype.Bool {
			return "[" + text + "].map(Boolean)"
		}
		if v.Type == dtype.I64 || v.Type == dtype.U64 {
			return "BigInt64Array.from([" + text + "].map(BigInt))"
		}
		names := map[dtype.DType]string{dtype.F32: "Float32", dtype.F64: "Float64", dtype.I8: "Int8", dtype.U8: "Uint8", dtype.I32: "Int32", dtype.U32: "Uint32"}
		return "new " + names[v.Type] + "Array([" + text + "])"
	}
	text, _ := json.Marshal(v)
	return strings.ReplaceAll(string(text), `\u003e`, ">")
}

// String is the program as JavaScript that can be pasted into a page.
func (p program) String() string {
	var b strings.Builder
	b.WriteString("import { open } from './weft.js'\nimport { ways } from './ways.js'\nconst w = await open({ device: 'wasm' }), elsewhere = await open({ device: 'wasm' })\n")
	b.WriteString("const kept = w.tensor([5, 6]), other = elsewhere.tensor([1, 1]), gone = w.ones([2])\ngone.dispose()\n")
	for _, s := range p.Steps {
		var args, outs []string
		for _, a := range s.Args {
			args = append(args, javaScript(a))
		}
		on := "w"
		if s.On >= 0 {
			on = fmt.Sprintf("t%d", s.On)
		}
		call := on + "." + s.Name + "(" + strings.Join(args, ", ") + ")"
		if isWay(s.Name) {
			call = fmt.Sprintf("await ways.%s(w, %s)", s.Name, strings.Join(append([]string{on}, args...), ", "))
		}
		for i := range s.Gives {
			outs = append(outs, fmt.Sprintf("t%d", s.first+i))
		}
		several := slices.Contains([]string{"sort", "topK", "split", "chunk", "grad"}, s.Name) || isWay(s.Name)
		switch {
		case s.wrong:
			fmt.Fprintf(&b, "try { const t = [%s].flat(); await t[0]?.realize() } catch (e) { console.log(e.message) } // Go: %s\n", call, s.why)
		case several:
			fmt.Fprintf(&b, "const [%s] = %s\n", strings.Join(outs, ", "), call)
		case s.Gives > 0:
			fmt.Fprintf(&b, "const %s = %s\n", outs[0], call)
		default:
			fmt.Fprintf(&b, "%s\n", call)
		}
	}
	return b.String()
}

// live are the values that are compared: all but those whose assignment failed and what came of them.
func (m *maker) live() (out []int) {
	for i := range m.values {
		if !m.traits[i].dead {
			out = append(out, i)
		}
	}
	return out
}

// answer is what a page gave for a program.
type answer struct {
	Steps    []*string
	Failed   string
	Values   []told
	Captured []told
}

// told is a value as a page read it.
type told struct {
	Shape []int
	DType string
	Data  []any
	Error string
}

// captured are the values that the page has a captured function give too: of programs that only compute, some.
func (m *maker) captured() (out []int) {
	for _, s := range m.Steps {
		if slices.Contains([]string{"own", "assign", "setAt"}, s.Name) || slices.Contains(inPlace, s.Name) || slices.Contains(waits, s.Name) || s.Name == "there" && !m.whole || s.Name == "grad" && s.On < 3 { // an input has no history
			return nil
		}
	}
	for _, n := range m.live() {
		if n >= 3 && m.Seed%3 == 0 {
			out = append(out, n)
		}
	}
	return out
}

// known is a value as Go has it.
type known struct {
	data  []any // float64, int64 or uint64
	err   error // why it cannot be read
	scale float64
	wild  bool // it is rough and so large, or of something so large, that its digits say nothing
}

// knownValues gives Go's values.
func (m *maker) knownValues(ctx context.Context) (map[int]*known, error) {
	live := m.live()
	list := make([]one, len(live))
	for i, n := range live {
		list[i] = m.values[n]
	}
	if err := tensor.Realize(ctx, list...); err != nil {
		return nil, err
	}
	out := map[int]*known{}
	for _, n := range live {
		k := &known{}
		k.data, k.err = elements(ctx, m.values[n])
		for _, v := range k.data {
			if f, ok := v.(float64); ok && math.Abs(f) <= math.MaxFloat64 {
				k.scale = max(k.scale, math.Abs(f))
			} else if ok {
				k.scale = math.Inf(1)
			}
		}
		for _, p := range m.traits[n].of {
			if q := out[p]; q != nil && p < n {
				k.scale = max(k.scale, q.scale)
			}
		}
		limit := 1e5
		if d := m.values[n].DType(); d == dtype.F16 || d == dtype.BF16 {
			limit = 1e3
		}
		k.wild = m.traits[n].rough && !(k.scale < limit)
		out[n] = k
	}
	return out, nil
}

// elements reads a value: float64, int64 or uint64.
func elements(ctx context.Context, x one) (out []any, err error) {
	switch d := x.DType(); {
	case d == dtype.U64:
		var v []uint64
		v, err = tensor.Data[uint64](ctx, x)
		for _, e := range v {
			out = append(out, e)
		}
	case !d.IsFloat():
		var v []int64
		v, err = tensor.Data[int64](ctx, x.To(dtype.I64))
		for _, e := range v {
			out = append(out, e)
		}
	default:
		var v []float64
		v, err = tensor.Data[float64](ctx, x.To(dtype.F64))
		for _, e := range v {
			out = append(out, e)
		}
	}
	return out, err
}

// tolerance is how far off a value may be: that of the worst of what it was made of.
func (m *maker) tolerance(n int, seen map[int]bool) float64 {
	if seen[n] {
		return 0
	}
	seen[n] = true
	tol := 1e-4
	switch m.values[n].DType() {
	case dtype.F16:
		tol = 1e-2
	case dtype.BF16:
		tol = 1e-1
	}
	for _, p := range m.traits[n].of {
		tol = max(tol, m.tolerance(p, seen))
	}
	return tol
}

func asFloat(v any) float64 {
	switch v := v.(type) {
	case float64:
		return v
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case string:
		f, err := strconv.ParseFloat(v, 64)
		if err != nil {
			return math.NaN()
		}
		return f
	}
	return math.NaN()
}

// foul is what no message of a page may hold.
var foul = regexp.MustCompile(`tensor: |weft: |\.go\b|\*Tensor|goroutine|runtime error|BUG|%!|undefined|\[object|is not a function|Cannot read|float32|\[\d+ \d`)

// differences are what a page did otherwise than Go.
func (m *maker) differences(a answer) (out []string, calls, wild int) {
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for i, s := range m.Steps {
		calls++
		call := fmt.Sprintf("call %d (%s)", i, s.Name)
		switch e := a.Steps[i]; {
		case e == nil && s.wrong:
			say("%s is right in the page; Go says: %s", call, s.why)
		case e != nil && !s.wrong:
			say("%s is right in Go; the page says: %s", call, *e)
		case e != nil && (!strings.HasPrefix(*e, s.Name+": ") || foul.MatchString((*e)[len(s.Name)+2:])):
			say("%s: no message for a page: %s", call, *e)
		}
	}
	if len(out) > 0 {
		return out, calls, wild
	}
	want, err := m.knownValues(context.Background())
	if err != nil || a.Failed != "" {
		if err == nil || a.Failed == "" {
			say("realize: the page says %q, Go: %v", a.Failed, err)
		}
		return out, calls, wild
	}
	for i, n := range m.live() {
		if want[n].wild {
			wild++
		}
		if why := m.compare(n, want[n], a.Values[i]); why != "" {
			say("%s", why)
		}
	}
	if captured := m.captured(); len(a.Captured) != len(captured) {
		say("%d captured values, not %d", len(a.Captured), len(captured))
	} else {
		for i, n := range captured {
			if why := m.compare(n, want[n], a.Captured[i]); why != "" {
				say("captured: %s", why)
			}
		}
	}
	return out, calls, wild
}

// compare says in what a value of the page differs, or nothing.
func (m *maker) compare(n int, k *known, got told) string {
	x := m.values[n]
	if got.Error != "" || k.err != nil {
		said := strings.HasPrefix(got.Error, "data: ")
		if v := (*tensor.ValueError)(nil); errors.As(k.err, &v) { // is told with the name of the call that made it wrong
			said = strings.HasSuffix(got.Error, ": "+v.Reason)
		}
		if got.Error == "" || k.err == nil || !said || foul.MatchString(got.Error) {
			return fmt.Sprintf("t%d: the page says %q, Go: %v", n, got.Error, k.err)
		}
		return ""
	}
	if !slices.Equal(x.Shape(), got.Shape) || jsName(x.DType()) != got.DType || len(got.Data) != len(k.data) {
		return fmt.Sprintf("t%d is %v %v with %d elements, not %v %s with %d", n, x.Shape(), x.DType(), len(k.data), got.Shape, got.DType, len(got.Data))
	}
	if k.wild {
		return ""
	}
	tol := 0.
	if m.traits[n].rough {
		tol = m.tolerance(n, map[int]bool{}) * (1 + k.scale)
	}
	for j, v := range k.data {
		w, g := asFloat(v), asFloat(got.Data[j])
		if m.finite && (math.IsNaN(w) || math.IsInf(w, 0)) {
			continue
		}
		if !(math.Abs(w-g) <= tol || w == g || math.IsNaN(w) && math.IsNaN(g) && got.Data[j] == "NaN") {
			return fmt.Sprintf("t%d[%d] is %v in Go and %v in the page (within %v)", n, j, v, got.Data[j], tol)
		}
	}
	return ""
}

// setting is a number from the environment, for longer runs.
func setting(t *testing.T, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, name)
	return n
}

// Random programs of calls, right and wrong ones: a page answers what the engine answers in Go, or both say that it is wrong.
// WEFT_FACE_PROGRAMS=20000 WEFT_FACE_SEED=5 runs so many from a seed; without them the same ones run each time.
func TestPrograms(t *testing.T) { playPrograms(t, "wasm", 115, dtype.All, false) }

// The engine that also has arrays on several devices and files of captured functions; these, and what else takes functions, are drawn more often.
func TestProgramsOfTheWhole(t *testing.T) { playPrograms(t, "wasm", 70, dtype.All, true) }

// A graphics processor that is a program compiles slowly, so these are few. Compilers of shaders may take it that no element is
// infinite or NaN (SwiftShader has 2 mod 0 be 2), so what is that in Go is not compared.
func TestProgramsOnWebGPU(t *testing.T) {
	playPrograms(t, "webgpu", 10, slices.DeleteFunc(slices.Clone(dtype.All), func(d dtype.DType) bool { return d == dtype.F64 }), false)
}

func playPrograms(t *testing.T, device string, most int, types []dtype.DType, whole bool) {
	p := open(t)
	engine.Configure(engine.Options{}, "INTERP")
	count, seed := setting(t, "WEFT_FACE_PROGRAMS", most), setting(t, "WEFT_FACE_SEED", 1)
	seeds := []uint64{}
	for i := range count {
		seeds = append(seeds, uint64(seed+i))
	}
	require.NoError(t, p.Run(`globalThis.face = await import('./program.js'); await face.start('`+device+`', `+strconv.FormatBool(whole)+`)`, nil))
	var before, after float64
	require.NoError(t, p.Run(`return face.held()`, &before))
	calls, wrong, values, wild := 0, 0, 0, 0
	for part := range slices.Chunk(seeds, 20) {
		var ms []*maker
		var programs []any
		for _, s := range part {
			m := makeProgram(s, 12, types, whole)
			m.finite = device == "webgpu"
			ms = append(ms, m)
			programs = append(programs, map[string]any{"Steps": m.Steps, "Live": m.live(), "Captured": m.captured()})
		}
		text, err := json.Marshal(programs)
		require.NoError(t, err)
		var answers []answer
		require.NoError(t, p.Run(`const out = []; for (const p of `+string(text)+`) out.push(await face.carryOut(p)); return out`, &answers))
		for i, m := range ms {
			differences, n, w := m.differences(answers[i])
			calls, wild, values = calls+n, wild+w, values+len(m.live())
			for _, s := range m.Steps {
				if s.wrong {
					wrong++
				}
			}
			if len(differences) > 0 {
				t.Errorf("program %d (WEFT_FACE_SEED=%d WEFT_FACE_PROGRAMS=1):\n%s\n%s", m.Seed, m.Seed, strings.Join(differences, "\n"), m.program)
			}
		}
	}
	require.NoError(t, p.Run(`await new Promise((f) => setTimeout(f, 50)); return face.held()`, &after))
	assert.LessOrEqual(t, after, before+300, "programs leave tensors behind")
	require.NoError(t, p.Run(`face.stop()`, nil))
	t.Logf("%d programs, %d calls, %d of them wrong, %d values compared and %d too large for it", len(seeds), calls, wrong, values-wild, wild)
	assert.Greater(t, calls, 10*len(seeds))
	if count > 1 { // one by itself may have none
		assert.Greater(t, wrong, calls/20)
	}
}
