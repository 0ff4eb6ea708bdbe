// Types of folders of captured functions, for export.js.
import type { Captured, ExportOptions } from './weft.js'

/** A captured function with names for its inputs and results. */
export interface Named {
  function: Captured<any>
  inputs?: string[]
  results?: string[]
}

/** The files of a folder, by their names, with slashes: 'model.json', 'player/model.js'. */
export type Files = Record<string, Uint8Array>

/** The files of a folder with captured functions by their names, which runs them without the engine. Each has run once. Tensors that several of them use are one there too. */
export function exportFunctions(functions: Record<string, Captured<any> | Named>, options?: Pick<ExportOptions, 'devices' | 'weights' | 'title'>): Promise<Files>

/** Writes files to a folder: to what showDirectoryPicker({ mode: 'readwrite' }) gives, or in Node to a path. */
export function write(files: Files, folder: FileSystemDirectoryHandle | string | URL): Promise<void>
