// A picture of grey bytes on a canvas of its own. The browser keeps such small ones in the page's memory, so that twenty of them cost no
// way to the graphics processor; and, other than an image's address, no policy stands against what a page draws itself.

/** Shows a picture of side × side bytes, 0 black and 255 white, on a canvas; null: black. One that it shows already costs nothing. */
export function show(canvas, pixels, side = 28) {
  pixels ??= new Uint8Array(side * side)
  if (canvas.pixels && canvas.pixels.every((v, i) => v === pixels[i])) return
  canvas.pixels = pixels.slice()
  canvas.to ??= canvas.getContext('2d', { willReadFrequently: true }) // not by the graphics processor
  const image = new ImageData(side, side)
  const words = new Uint32Array(image.data.buffer)
  for (let i = 0; i < words.length; i++) words[i] = pixels[i] * 0x010101 + 0xff000000
  canvas.to.putImageData(image, 0, 0)
}
