// Plays packed plans with the player on a fake of navigator.gpu and prints what it is told to do:
//
//   node play.mjs player.mjs folder
//
// The folder has plans n.plan and plays n.json: for each play the variables. Each play is a line with the variables, then
// a line for each launch and copy in the order of submission, buffers by the names of their memory.
import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'

const [script, folder] = process.argv.slice(2)
const { Player, unpack } = await import(pathToFileURL(path.resolve(script)))
const kinds = ['arena', 'input', 'output', 'state']

// The fake: buffers remember what was last written, submissions are kept as commands.
let log = []
let touched = null
const passOf = (list) => {
  let pipeline, group
  return {
    setPipeline: (p) => { pipeline = p },
    setBindGroup: (i, g) => { group = g },
    dispatchWorkgroups: (...grid) => list.push({ pipeline, group, grid }),
    end() {},
  }
}
const device = {
  limits: { maxStorageBufferBindingSize: 2 ** 27, maxBufferSize: 2 ** 28, maxStorageBuffersPerShaderStage: 8, maxComputeWorkgroupsPerDimension: 65535, maxComputeInvocationsPerWorkgroup: 256, maxComputeWorkgroupStorageSize: 16384 },
  features: new Set(),
  lost: new Promise(() => {}),
  createBuffer: ({ size }) => ({ size, destroy() {} }),
  createShaderModule: ({ code }) => ({ code, getCompilationInfo: async () => ({ messages: [] }) }),
  createBindGroupLayout: ({ entries }) => ({ entries }),
  createPipelineLayout: ({ bindGroupLayouts }) => ({ group: bindGroupLayouts[0] }),
  createComputePipelineAsync: async ({ label, layout, compute }) => ({ label, layout, entry: compute.entryPoint }),
  createBindGroup: ({ layout, entries }) => ({ layout, entries }),
  createCommandEncoder: () => {
    const list = []
    return {
      beginComputePass: () => passOf(list),
      copyBufferToBuffer: (from, fromAt, to, toAt, n) => list.push({ from, fromAt, to, toAt, n }),
      finish: () => list,
    }
  },
  pushErrorScope() {},
  popErrorScope: async () => null,
  destroy() {},
  queue: {
    writeBuffer(buffer, at, data) {
      touched = buffer
      buffer.data = new Uint8Array(data.buffer ?? data, data.byteOffset ?? 0, data.byteLength).slice()
    },
    submit: (lists) => {
      for (const l of lists) {
        if (l.some((c) => c.group?.entries[0].resource.offset > 0) && l.length > 1) throw new Error('a part shares its submission')
        log.push(...l)
      }
    },
    onSubmittedWorkDone: async () => {},
  },
}
const gpu = { requestAdapter: async () => ({ limits: device.limits, features: device.features, info: { description: 'a fake' }, requestDevice: async () => device }) }

// Copies within a buffer go through another one.
function joined(commands) {
  const out = []
  for (const c of commands) {
    const last = out.at(-1)
    if (c.to && last?.to && c.from === last.to && c.fromAt === 0 && last.toAt === 0 && !named.has(c.from) && last.from === c.to) {
      out[out.length - 1] = { ...c, from: last.from, fromAt: last.fromAt }
    } else out.push(c)
  }
  return out
}

let named = new Map()
let cut = new Set() // names of kernels that are launched in parts
let first = 0 // the word of the uniform block that tells parts apart
const at = (buffer, offset, n) => `${named.get(buffer) ?? 'arena'}[${offset}+${n}]`

function tell(c, vars) {
  if (c.to) return console.log(`copy *${at(c.to, c.toAt, c.n)} ${at(c.from, c.fromAt, c.n)}`)
  const { entries } = c.group
  if (c.pipeline.layout.group !== c.group.layout) throw new Error('a bind group of another layout')
  const { buffer: uniform, offset = 0, size } = entries[0].resource
  const bits = new Uint32Array(uniform.data.buffer, offset, size / 4)
  if (bits[0] !== 0x7f800000 || bits[1] !== 0x7fc00000 || bits[2] !== 0 || bits[3] !== 0x80000000) throw new Error('the uniform block lacks its constants')
  const given = [...new Int32Array(bits.buffer, offset + 16)].slice(0, vars.length)
  if (String(given) !== String(vars)) throw new Error(`the uniform block has variables ${given}, not ${vars}`)
  const words = entries.slice(1).map(({ binding, resource: { buffer, offset, size } }) => {
    const star = c.group.layout.entries[binding].buffer.type === 'storage' ? '*' : ''
    return ' ' + star + (size === undefined ? 'nothing' : at(buffer, offset, size))
  })
  const { label } = c.pipeline
  const part = cut.has(label) ? ` part ${c.grid.join('×')} from ${bits[first]}` : ` ${c.grid.join('×')}`
  console.log(`launch ${label}${part}${words.join('')}`)
}

for (let n = 0; fs.existsSync(path.join(folder, `${n}.plan`)); n++) {
  const bytes = new Uint8Array(fs.readFileSync(path.join(folder, `${n}.plan`)))
  const plays = JSON.parse(fs.readFileSync(path.join(folder, `${n}.json`)))
  const player = new Player(undefined, gpu)
  await player.open()
  named = new Map()
  try {
    const { memory, steps, kernels, parts, first: word } = unpack(bytes)
    cut = new Set(kernels.filter((k, i) => parts[i].length > 0).map((k) => k.name))
    first = word
    const args = []
    for (const m of memory) {
      if (m.kind === 0) continue
      args[m.arg] = player.alloc(m.bytes)
      player.write(args[m.arg], 0, new Uint8Array(4))
      named.set(touched, kinds[m.kind] + m.arg)
    }
    const number = await player.load(bytes)
    for (const vars of plays) {
      log = []
      player.play(number, args, vars)
      console.log(['play', steps.length, 'steps', ...vars].join(' '))
      for (const c of joined(log)) tell(c, vars)
    }
  } catch (e) {
    console.log(`refused: ${e.message}`)
  }
}
