// Types of the player. A folder has this file with its own functions in the place of the one that takes any.

/** Numbers, perhaps nested as the axes are. */
export type Nested = number | boolean | bigint | readonly Nested[]

/** What holds elements; those of 8 and 16 bits that JavaScript has no floats for are their bits. */
export type Elements = Uint8Array | Int8Array | Uint16Array | Int16Array | Uint32Array | Int32Array | BigUint64Array | BigInt64Array | Float32Array | Float64Array

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
  /** Runs a function with inputs by name. read: the names of the results that are wanted; all without it. */
  run(name: string, inputs?: Record<string, Elements | Nested>, options?: { vars?: Record<string, number>; read?: string[] }): Promise<Record<string, Result<Elements>>>
}
