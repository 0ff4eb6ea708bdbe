// A picture of grey bytes as an image that the browser decodes beside the page. A canvas of its own for each of many
// small pictures would be handed over to the graphics processor by the page itself, which waits for it.

const head = 14 + 40 + 4 * 256 // of a bitmap with a palette

/** The address of a picture of side × side bytes, 0 black and 255 white; side is a multiple of 4. */
export function address(pixels, side) {
  const bytes = new Uint8Array(head + pixels.length)
  const view = new DataView(bytes.buffer)
  const put = (at, ...numbers) => numbers.forEach((v, i) => view.setUint32(at + 4 * i, v, true))
  bytes.set([66, 77]) // "BM"
  put(2, bytes.length, 0, head)
  put(14, 40, side, side, 1 | (8 << 16), 0, pixels.length, 0, 0, 256, 0)
  for (let i = 0; i < 256; i++) bytes.fill(i, 54 + 4 * i, 57 + 4 * i)
  for (let y = 0; y < side; y++) bytes.set(pixels.subarray(y * side, (y + 1) * side), head + (side - 1 - y) * side) // from below
  return `data:image/bmp;base64,${btoa(String.fromCharCode(...bytes))}`
}

/** Shows a picture in an img; null: black. One that it shows already costs nothing. */
export function show(img, pixels, side = 28) {
  pixels ??= new Uint8Array(side * side)
  if (img.pixels && img.pixels.every((v, i) => v === pixels[i])) return
  img.pixels = pixels.slice()
  img.src = address(pixels, side)
}
