package browser_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	need "github.com/weft-ml/weft/tests/require"
)

// dropped reads files of the shared data as a page gets them: base64 by name.
func dropped(t *testing.T, dir string, names ...string) string {
	var all []string
	for _, n := range names {
		raw, err := os.ReadFile(need.Data(t, "models", dir, n))
		require.NoError(t, err)
		all = append(all, `new File([Uint8Array.from(atob('`+base64.StdEncoding.EncodeToString(raw)+`'), (c) => c.charCodeAt(0))], '`+filepath.Base(n)+`')`)
	}
	return "[" + strings.Join(all, ", ") + "]"
}

// An ONNX model in the page gives what it gives natively: from an engine of its own, and in one with the page's tensors.
func TestOnnxModel(t *testing.T) {
	p := open(t)
	var got struct {
		Inputs, Outputs []struct {
			Name, DType string
			Shape       []any
		}
		Parameters float64
		Same       []bool
		Shape      []int
		Errors     []string
	}
	require.NoError(t, p.Run(`
		const [file] = `+dropped(t, "mnist-8", "model.onnx")+`
		const out = {same: [], errors: []}
		const picture = Float32Array.from({length: 784}, (_, i) => (i * 37 % 256) )
		let first
		for (const models of [false, true]) {
			const w = await weft.open({device: 'wasm', models})
			const m = await w.onnx(file)
			Object.assign(out, {inputs: m.inputs.map((i) => ({...i, DType: i.dtype})), outputs: m.outputs, parameters: m.parameters})
			const {Plus214_Output_0: y} = await m.run({Input3: picture})
			first ??= await y.list()
			out.shape = y.shape
			const again = await m.run({Input3: w.tensor(picture, [1, 1, 28, 28])}, {outputs: ['Plus214_Output_0']})
			const sum = await again.Plus214_Output_0.add(1).sub(1).list() // a tensor of the page's engine
			out.same.push(sum[0].every((v, i) => Math.abs(v - first[0][i]) < 1e-2), y.w === w)
			const {Plus214_Output_0: at} = await m.run({Input3: picture}, {read: ['Plus214_Output_0']})
			out.same.push(at instanceof Float32Array && at.length === 10 && at.every((v, i) => Math.abs(v - first[0][i]) < 1e-2))
			const both = await Promise.all([m.run({Input3: picture}), m.run({Input3: picture}, {read: ['Plus214_Output_0']}), m.run({Input3: picture})]) // ways in turns
			const lists = [await both[0].Plus214_Output_0.list(), [[...both[1].Plus214_Output_0]], await both[2].Plus214_Output_0.list()]
			out.same.push(lists.every(([l]) => l.length === 10 && l.every((v, i) => Math.abs(v - first[0][i]) < 1e-2)), both[2].Plus214_Output_0.shape.join() === '1,10')
			for (const wrong of [() => m.run({}), () => m.run({nothing: [1]}), () => m.run({Input3: [1, 2]}), () => m.run({Input3: picture}, {outputs: ['none']}),
				() => w.onnx(new Blob(['no model'])), () => w.onnx(5)]) {
				try { await wrong(); out.errors.push('nothing') } catch (e) { out.errors.push(e.message) }
			}
			m.close()
			try { await m.run({Input3: picture}); out.errors.push('nothing') } catch (e) { out.errors.push(e.message) }
			w.close()
		}
		return out`, &got))
	assert.Equal(t, slices.Repeat([]bool{true}, 10), got.Same)
	assert.Equal(t, []int{1, 10}, got.Shape)
	assert.Equal(t, 5998., got.Parameters)
	require.Len(t, got.Inputs, 1)
	assert.Equal(t, "Input3", got.Inputs[0].Name)
	assert.Equal(t, "f32", got.Inputs[0].DType)
	assert.Equal(t, []any{1., 1., 28., 28.}, got.Inputs[0].Shape)
	require.Len(t, got.Errors, 14)
	for i, want := range []string{"Input3", "is not given", "Input3", `no output "none"`, "onnx", "an address, a File", "was disposed of"} {
		assert.Contains(t, got.Errors[i], want, "error %d", i)
		assert.Contains(t, got.Errors[i+7], want, "error %d", i)
	}
}

// A language model in the page says the recorded story, and stops when it is told to.
func TestLanguageModel(t *testing.T) {
	p := open(t)
	story, err := os.ReadFile(need.Data(t, "models", "stories260k", "greedy_text.txt"))
	require.NoError(t, err)
	var got struct {
		Text, Cut, Decoded string
		Held, Pet, Long    string
		None               string
		Vocab, Length      int
		Tokens             []int
		Likely             []struct {
			Token int
			Piece string
			P     float64
		}
		Chosen, Read, Stopped int
		Errors                []string
	}
	require.NoError(t, p.Run(`
		const files = `+dropped(t, "stories260k", "stories260K.bin", "tok512.bin")+`
		files[1] = new File([files[1]], 'tokenizer.bin')
		const w = await weft.open({device: 'wasm'})
		const lm = await w.llm(files, {chunk: 4})
		const out = {text: '', vocab: lm.vocab, length: lm.length, errors: [], read: 0, stopped: 0}
		for await (const piece of lm.generate('', {tokens: 120})) out.text += piece
		out.tokens = await lm.encode('Once upon a time')
		out.decoded = await lm.decode(out.tokens)
		out.cut = ''
		for await (const piece of lm.generate('Once upon a time there was a girl', {tokens: 50, stop: 'She', onprogress: ({read}) => { out.read = read }})) out.cut += piece
		for await (const {token, likely} of lm.tokens('Once', {top: 3, tokens: 1})) Object.assign(out, {likely, chosen: token})
		const schema = {type: 'object', properties: {name: {type: 'string', maxLength: 9}, age: {type: 'integer', minimum: 0}}, required: ['name', 'age']}
		out.held = ''
		for await (const piece of lm.generate('A girl', {schema, temperature: 1, seed: 4})) out.held += piece
		out.pet = ''
		for await (const piece of lm.generate('A pet: ', {grammar: 'root ::= "a " ("cat" | "dog")'})) out.pet += piece
		const stop = new AbortController()
		try {
			for await (const piece of lm.generate('Once', {signal: stop.signal})) if (++out.stopped === 3) stop.abort(new Error('enough'))
		} catch (e) { out.errors.push(e.message) }
		const tell = async (f) => { try { await f(); out.errors.push('nothing') } catch (e) { out.errors.push(e.message) } }
		await tell(() => lm.generate([{role: 'user', content: 'Hi'}]).next())
		await tell(() => lm.generate('a', {temperature: -1}).next())
		await tell(() => lm.generate('a', {heat: 1}).next())
		await tell(() => lm.tokens('a', {top: 99}).next())
		await tell(() => lm.generate('a', {schema: {pattern: 'a'}}).next())
		await tell(() => lm.generate('a', {grammar: 'root = "a"'}).next())
		const one = lm.generate('a')
		await one.next()
		await tell(() => lm.generate('b').next())
		await one.return()
		await tell(() => w.llm([new File(['x'], 'x.txt')]))
		await tell(() => w.llm(new File(['GGUFxxxxxxxxxxxx'], 'x.gguf')))
		await tell(() => w.llm([files[0]]))
		const small = await w.llm(files, {length: 40})
		out.long = ''
		for await (const piece of small.generate('Once', {shift: true, grammar: 'root ::= [a-z ]{200}'})) out.long += piece
		for await (const piece of lm.generate('Once', {tokens: 0})) out.none = (out.none ?? '') + piece
		await tell(() => lm.generate().next())
		await tell(() => lm.tokens(3).next())
		await tell(() => lm.encode(['Once']))
		lm.close()
		await tell(() => lm.generate('a').next())
		w.close()
		return out`, &got))
	assert.Contains(t, string(story), strings.TrimSpace(got.Text))
	assert.Greater(t, len(got.Text), 200)
	assert.Equal(t, []int{512, 512}, []int{got.Vocab, got.Length})
	assert.Equal(t, "Once upon a time", strings.TrimSpace(got.Decoded))
	assert.NotContains(t, got.Cut, "She")
	assert.Empty(t, got.None, "tokens is the most that are made")
	var held struct {
		Name *string
		Age  *uint64
	}
	require.NoError(t, json.Unmarshal([]byte(got.Held), &held), got.Held)
	assert.True(t, held.Name != nil && held.Age != nil, got.Held)
	assert.Contains(t, []string{"a cat", "a dog"}, strings.TrimSpace(got.Pet))
	assert.Len(t, got.Long, 200, "more than there is room for")
	assert.Positive(t, got.Read)
	assert.Equal(t, 3, got.Stopped)
	require.Len(t, got.Likely, 3)
	assert.Equal(t, got.Chosen, got.Likely[0].Token)
	assert.True(t, got.Likely[0].P >= got.Likely[1].P && got.Likely[1].P >= got.Likely[2].P && got.Likely[2].P > 0)
	for i, want := range []string{"enough", "without a template", "temperature -1", `no option "heat"`, "from 0 to 50", `keyword "pattern" is not known`, "line 1, column 6: after the name of a rule stands ::=", "makes another text", "are no model", "x.gguf", "no tokenizer",
		"generate: the prompt is missing; it must be a text or an array of messages", "generate: the prompt is of type number; it must be", "encode: the text is an array; it must be a string", "was disposed of"} {
		if assert.Greater(t, len(got.Errors), i) {
			assert.Contains(t, got.Errors[i], want)
		}
	}
}
