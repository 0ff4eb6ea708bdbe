package export

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/saved"
	"github.com/weft-ml/weft/uop"
)

// arrays are the types of JavaScript that hold elements.
var arrays = map[dtype.DType]string{
	dtype.Bool: "Uint8Array", dtype.U8: "Uint8Array", dtype.I8: "Int8Array", dtype.U16: "Uint16Array", dtype.I16: "Int16Array",
	dtype.U32: "Uint32Array", dtype.I32: "Int32Array", dtype.U64: "BigUint64Array", dtype.I64: "BigInt64Array",
	dtype.F32: "Float32Array", dtype.F64: "Float64Array", dtype.F16: "Uint16Array", dtype.BF16: "Uint16Array",
	dtype.F8E4M3: "Uint8Array", dtype.F8E5M2: "Uint8Array",
}

const typesHead = `// Types of the functions in this folder, for model.js.

/** Numbers, perhaps nested as the axes are. */
export type Nested = number | boolean | bigint | readonly Nested[]

export interface Result<A> { data: A; shape: number[]; dtype: string }

export interface LoadOptions {
  /** Without it WebGPU where the browser has a graphics processor and the folder kernels for it. */
  device?: 'wasm' | 'webgpu'
  /** It runs in a worker, beside the page; where that is cross-origin isolated, on several threads. */
  worker?: boolean
  /** Threads of WebAssembly, at most. */
  threads?: number
  onprogress?: (loaded: number, total: number) => void
  signal?: AbortSignal
  fetch?: typeof fetch
  /** Of a folder whose kernels are a file of their own: that file, compiled, where none may be compiled at run time. */
  kernels?: WebAssembly.Module
}

export class ModelError extends Error {}
export const version: number

/** Loads a folder. */
export function load(folder: string | URL, options?: LoadOptions): Promise<Model>

export interface Model {
  readonly device: 'wasm' | 'webgpu'
  /** Names, types and shapes of inputs and results, and variables. */
  readonly functions: Record<string, {
    inputs: { name: string; dtype: string; shape: number[] }[]
    results: { name: string; dtype: string; shape: number[] }[]
    vars: { name: string; lo: number; hi: number; value?: number }[]
  }>
  /** What functions have assigned, for restore. */
  save(): Promise<Uint8Array>
  restore(bytes: Uint8Array): Promise<void>
  close(): Promise<void>
`

// types declares what a folder's functions take and give.
func types(p *saved.Program) []byte {
	var b strings.Builder
	b.WriteString(typesHead)
	for i := range p.Functions {
		f := &p.Functions[i]
		var in, out, names []string
		for _, x := range f.Inputs {
			in = append(in, fmt.Sprintf("/** %v %v */ %s: %s | Nested", x.DType, x.Shape, quote(x.Name), arrays[x.DType]))
		}
		for _, x := range f.Results {
			out = append(out, fmt.Sprintf("/** %v %v */ %s: Result<%s>", x.DType, x.Shape, quote(x.Name), arrays[x.DType]))
			names = append(names, quote(x.Name))
		}
		if len(names) == 0 {
			names = []string{"never"}
		}
		fmt.Fprintf(&b, "  run(name: %s, inputs%s: { %s }, options?: { vars?: %s; read?: (%s)[] }): Promise<{ %s }>\n",
			quote(f.Name), optional(len(in) == 0), strings.Join(in, "; "), variables(f), strings.Join(names, " | "), strings.Join(out, "; "))
	}
	b.WriteString("}\n")
	return []byte(b.String())
}

func optional(yes bool) string {
	if yes {
		return "?"
	}
	return ""
}

// variables is the type of the values of a function's variables.
func variables(f *saved.Function) string {
	var list []string
	seen := map[string]bool{}
	for _, t := range f.Targets {
		for _, u := range uop.Topo(t.Value) {
			if v, ok := u.Arg().(uop.VarArg); ok && !seen[v.Name] {
				seen[v.Name] = true
				list = append(list, fmt.Sprintf("/** %d … %d */ %s?: number", v.Lo, v.Hi, quote(v.Name)))
			}
		}
	}
	return "{ " + strings.Join(list, "; ") + " }"
}

// quote is a text as JavaScript and JSON have it.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return string(b)
}
