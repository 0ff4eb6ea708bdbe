// A worker that runs a test binary of Go: arguments and files come with the first message, what it prints and its
// exit code go back.

const files = new Map()
const opened = []
const decoder = new TextDecoder('utf-8')
const failure = (code) => Object.assign(new Error(code), { code })
let line = ''

// As much of a file system as tests need: files in memory, to be read.
function stat(path, done) {
  const data = files.get(path)
  const dir = [...files.keys()].some((f) => f.startsWith(path.replace(/\/?$/, '/')))
  if (!data && !dir) return done(failure('ENOENT'))
  const size = data?.length ?? 0
  done(null, {
    dev: 1, ino: 1, mode: data ? 0o100644 : 0o40755, nlink: 1, uid: 0, gid: 0, rdev: 0, size, blksize: 4096, blocks: 1,
    atimeMs: 0, mtimeMs: 0, ctimeMs: 0, isDirectory: () => !data,
  })
}
const refuse = (...args) => args.at(-1)(failure('ENOSYS'))
globalThis.fs = {
  constants: { O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_TRUNC: 512, O_APPEND: 1024, O_EXCL: 128, O_DIRECTORY: 65536 },
  writeSync(fd, bytes) {
    line += decoder.decode(bytes, { stream: true })
    const end = line.lastIndexOf('\n') + 1
    if (end) postMessage({ text: line.slice(0, end) })
    line = line.slice(end)
    return bytes.length
  },
  write(fd, bytes, from, n, at, done) { done(null, this.writeSync(fd, bytes.subarray(from, from + n))) },
  open(path, flags, mode, done) {
    if (!files.has(path)) return done(failure('ENOENT'))
    opened.push({ path, at: 0 })
    done(null, opened.length + 9)
  },
  read(fd, bytes, from, n, at, done) {
    const f = opened[fd - 10]
    const data = files.get(f.path)
    const start = at ?? f.at
    const part = data.subarray(start, start + n)
    bytes.set(part, from)
    if (at === null) f.at += part.length
    done(null, part.length)
  },
  close: (fd, done) => done(null),
  fstat: (fd, done) => stat(opened[fd - 10].path, done),
  stat, lstat: stat,
  fsync: (fd, done) => done(null),
  chmod: refuse, chown: refuse, fchmod: refuse, fchown: refuse, ftruncate: refuse, lchown: refuse, link: refuse, mkdir: refuse,
  readdir: refuse, readlink: refuse, rename: refuse, rmdir: refuse, symlink: refuse, truncate: refuse, unlink: refuse, utimes: refuse,
}
globalThis.process = {
  getuid: () => -1, getgid: () => -1, geteuid: () => -1, getegid: () => -1, getgroups: () => { throw failure('ENOSYS') },
  pid: -1, ppid: -1, umask: () => { throw failure('ENOSYS') }, cwd: () => '/', chdir: () => { throw failure('ENOSYS') },
}

onmessage = async ({ data: { wasm, argv, env, data } }) => {
  try {
    await import('./wasm_exec.js')
    const { imports } = await import('./glue.js')
    const kernels = await import('./kernels.js')
    for (const path in data) files.set(path, new Uint8Array(await (await fetch(data[path])).arrayBuffer()))
    const go = new globalThis.Go()
    Object.assign(go, { argv, env, exit: (code) => postMessage({ code }) })
    let memory
    const player = imports(() => memory, (text) => postMessage({ text: `lost: ${text}\n` }))
    globalThis.weft = { player }
    go.importObject.player = player.functions
    const { startWorker } = await import('./start.js')
    go.importObject.kernels = kernels.imports(() => memory, () => 0, () => startWorker(new URL('./thread.js', import.meta.url).href, 'thread'))
    const { instance } = await WebAssembly.instantiateStreaming(fetch(wasm), go.importObject)
    memory = instance.exports.mem
    await go.run(instance)
  } catch (e) {
    postMessage({ text: `${e.stack ?? e}\n`, code: 3 })
  }
}
