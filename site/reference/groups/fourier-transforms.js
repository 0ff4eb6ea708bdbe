// Made of wasm/face/methods.txt, the comments of package tensor, and wasm/face/examples.txt: go generate ./wasm/face

export const methods = [
  {
    name: "fft", form: "x.fft(options?: { n?: number; axis?: number; norm?: 'backward' | 'ortho' | 'forward' })", gives: "Tensor",
    says: "The discrete Fourier transform along an axis, cut or filled with zeros to n (−1: as it is). Complex arrays have a last axis of two: real and imaginary parts. Unless given: n -1, axis -1, norm backward.",
    uses: ["z"],
    run: ({ w, z }) => z.fft({axis: 0}),
  },
  {
    name: "ifft", form: "x.ifft(options?: { n?: number; axis?: number; norm?: 'backward' | 'ortho' | 'forward' })", gives: "Tensor",
    says: "ifft is the inverse of fft. Unless given: n -1, axis -1, norm backward.",
    uses: ["z"],
    run: ({ w, z }) => z.ifft({axis: 0, norm: 'ortho'}),
  },
  {
    name: "rfft", form: "x.rfft(options?: { n?: number; axis?: number; norm?: 'backward' | 'ortho' | 'forward' })", gives: "Tensor",
    says: "rfft is the transform of real x along an axis: the n/2+1 terms that are not mirrored, complex. Unless given: n -1, axis -1, norm backward.",
    uses: ["x"],
    run: ({ w, x }) => x.rfft({n: 6, axis: 1}),
  },
  {
    name: "ihfft", form: "x.ihfft(options?: { n?: number; axis?: number; norm?: 'backward' | 'ortho' | 'forward' })", gives: "Tensor",
    says: "ihfft is the inverse of hfft for real x: the first n/2+1 terms, complex. Unless given: n -1, axis -1, norm backward.",
    uses: ["x"],
    run: ({ w, x }) => x.ihfft({axis: 1}),
  },
  {
    name: "irfft", form: "x.irfft(options?: { n?: number; axis?: number; norm?: 'backward' | 'ortho' | 'forward' })", gives: "Tensor",
    says: "irfft is the inverse of rfft: complex x holds the first half of a mirrored spectrum; the result is real, of n elements (−1: twice as many as x, less 2). Unless given: n -1, axis -1, norm backward.",
    uses: ["z"],
    run: ({ w, z }) => z.irfft({axis: 0}),
  },
  {
    name: "hfft", form: "x.hfft(options?: { n?: number; axis?: number; norm?: 'backward' | 'ortho' | 'forward' })", gives: "Tensor",
    says: "hfft is the transform of a mirrored (Hermitian) signal, of which complex x holds the first half: a real spectrum of n elements (−1: twice as many as x, less 2). Unless given: n -1, axis -1, norm backward.",
    uses: ["z"],
    run: ({ w, z }) => z.hfft({axis: 0, norm: 'forward'}),
  },
  {
    name: "fftn", form: "x.fftn(options?: { sizes?: number | number[]; axes?: number | number[]; norm?: 'backward' | 'ortho' | 'forward' })", gives: "Tensor",
    says: "fftn transforms complex x along several axes (none: all) to the lengths sizes (none: as they are). Unless given: norm backward.",
    uses: ["z"],
    run: ({ w, z }) => z.fftn(),
  },
  {
    name: "ifftn", form: "x.ifftn(options?: { sizes?: number | number[]; axes?: number | number[]; norm?: 'backward' | 'ortho' | 'forward' })", gives: "Tensor",
    says: "ifftn is the inverse of fftn. Unless given: norm backward.",
    uses: ["z"],
    run: ({ w, z }) => z.ifftn({axes: 0}),
  },
  {
    name: "rfftn", form: "x.rfftn(options?: { sizes?: number | number[]; axes?: number | number[]; norm?: 'backward' | 'ortho' | 'forward' })", gives: "Tensor",
    says: "rfftn is rfft along the last of the axes and fft along the others. Unless given: norm backward.",
    uses: ["x"],
    run: ({ w, x }) => x.rfftn({sizes: [2, 4]}),
  },
  {
    name: "irfftn", form: "x.irfftn(options?: { sizes?: number | number[]; axes?: number | number[]; norm?: 'backward' | 'ortho' | 'forward' })", gives: "Tensor",
    says: "irfftn is the inverse of rfftn. Unless given: norm backward.",
    uses: ["x"],
    run: ({ w, x }) => x.rfftn().irfftn({sizes: [3, 4]}),
  },
  {
    name: "fftShift", form: "x.fftShift(axis?: number | number[])", gives: "Tensor",
    says: "fftShift moves the middle of the axes (none: all) to their front's place: zero frequency to the centre.",
    uses: ["x"],
    run: ({ w, x }) => x.fftShift(1),
  },
  {
    name: "ifftShift", form: "x.ifftShift(axis?: number | number[])", gives: "Tensor",
    says: "ifftShift is the inverse of fftShift.",
    uses: ["x"],
    run: ({ w, x }) => x.ifftShift(),
  },
  {
    name: "stft", form: "x.stft(n: number, options?: Frames)", gives: "Tensor",
    says: "stft is the Fourier transform of windows of n samples along the last axis of a real signal: [samples] gives [frequencies, windows, 2], the last axis real and imaginary part, [rows, samples] gives that for each row.",
  },
  {
    name: "istft", form: "x.istft(n: number, options?: Frames)", gives: "Tensor",
    says: "istft is the signal of which t[…, frequencies, windows, 2] is the stft with the same options: the inverse transforms of all windows, weighted and added, over the sum of the squares of their weights.",
  },
]
