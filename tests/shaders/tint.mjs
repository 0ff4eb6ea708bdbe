// Asks Tint, Chromium's compiler of WGSL, about shaders: node tint.mjs file…
// A line of JSON for each that it refuses, and one at the end: Dawn's threads may abort when the process ends. Nothing runs: the backend is the null one.
import { create, globals } from 'webgpu';
import fs from 'node:fs';

Object.assign(globalThis, globals);
globalThis.gpu = create(['backend=null']); // collected, it takes everything with it
const adapter = await gpu.requestAdapter();
const device = await adapter.requestDevice({ requiredFeatures: ['shader-f16', 'subgroups'] });
device.addEventListener('uncapturederror', (e) => e.preventDefault());
for (const file of process.argv.slice(2)) {
  device.pushErrorScope('validation');
  const module = device.createShaderModule({ code: fs.readFileSync(file, 'utf8') });
  const { messages } = await module.getCompilationInfo();
  await device.popErrorScope();
  const m = messages.find((m) => m.type === 'error');
  if (m) console.log(JSON.stringify({ file, line: m.lineNum, message: m.message }));
}
console.log(JSON.stringify({ done: process.argv.length - 2 }));
process.exit(0);
