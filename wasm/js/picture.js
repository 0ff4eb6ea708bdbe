// Pictures as tensors and back.

import { Elements } from './wire.js'

// Node has tensors and no pictures.
function pictured(as) {
  if (!globalThis.ImageData) throw new Error(`${as}: there is no ImageData here; pages and their workers have it`)
}

const grey = [0.299, 0.587, 0.114] // how bright the colours are (ITU-R BT.601)

/**
 * A picture as a tensor [channels, height, width] of numbers from 0 to 1, or of bytes with dtype 'u8'. Where the browser can, the pixels
 * go to the engine without passing through the page: of all but ImageData.
 */
export async function fromImage(w, source, { channels = 3, dtype = 'f32' } = {}) {
  pictured('fromImage')
  let pixels
  let [height, width] = [source.height, source.width]
  if (source instanceof ImageData) {
    pixels = new Elements('u8', source.data)
  } else {
    const bitmap = await createImageBitmap(source, { premultiplyAlpha: 'none' }).catch((e) => {
      throw Object.assign(new Error(`fromImage: the browser makes no picture of it: ${e.message}`), { name: e.name })
    })
    ;[height, width] = [bitmap.height, bitmap.width]
    pixels = new Elements('u8', bitmap)
  }
  let x = w.record('tensor', 1, [pixels, [height, width, 4]])[0].permute([2, 0, 1])
  if (channels === 2) throw new RangeError('fromImage: channels is the number 2; it must be 1 (grey), 3 (colours) or 4 (colours and opacity)')
  if (channels === 1) {
    x = x.shrink([0, 0, 0], [3, height, width]).to('f32').mul(w.tensor(new Float32Array(grey), [3, 1, 1])).sum({ axis: 0, keep: true })
    if (dtype === 'u8') return x.round().to('u8')
  } else if (channels === 3) {
    x = x.shrink([0, 0, 0], [3, height, width])
  }
  return dtype === 'u8' ? x.contiguous() : x.to('f32').div(255).to(dtype).contiguous()
}

/** The picture that a tensor [channels, height, width] or [height, width] is: numbers from 0 to 1, or bytes. */
export async function toImageData(t) {
  pictured('toImageData')
  const { shape, dtype } = await t.told('toImageData')
  if (shape.length === 2) {
    t = t.unsqueeze(0)
    shape.unshift(1)
  }
  const [channels, height, width] = shape
  if (shape.length !== 3 || ![1, 3, 4].includes(channels) || height * width === 0) {
    throw new RangeError(`toImageData: a tensor of shape [${shape.join(', ')}] is no picture; it must be [1, 3 or 4 channels, height, width] or [height, width]`)
  }
  if (dtype !== 'u8') t = t.to('f32').mul(255).round().clamp(0, 255).to('u8')
  if (channels === 1) t = t.expand([3, height, width])
  if (channels < 4) t = t.w.cat([t, t.w.full([1, height, width], 255, { dtype: 'u8' })])
  const bytes = await t.permute([1, 2, 0]).contiguous().data()
  return new ImageData(new Uint8ClampedArray(bytes.buffer, bytes.byteOffset, bytes.length), width, height)
}
