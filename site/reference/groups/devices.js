// Made of wasm/face/methods.txt, the comments of package tensor, and wasm/face/examples.txt: go generate ./wasm/face

export const methods = [
  {
    name: "on", form: "x.on(device: string)", gives: "Tensor",
    says: "The tensor on another device of the browser, 'wasm' or 'webgpu'. It is lazy and differentiable; elements go through the engine's worker.",
    uses: ["x"],
    run: ({ w, x }) => x.on('wasm'),
  },
  {
    name: "moveTo", form: "x.moveTo(device: string)", gives: "this",
    says: "Moves the tensor itself to another device: replace by on.",
  },
  {
    name: "shard", form: "x.shard(devices: string[], axis?: number | null)", gives: "Tensor",
    says: "The tensor on several devices of one kind, ['wasm:0', 'wasm:1']: cut into equal parts along an axis, one a device in their order; whole on each where no axis is named. Operations on it are those on any tensor, and each device computes its part of them. It takes the whole engine: open({ whole: true }).",
    uses: ["x"],
    run: ({ w, x }) => x.shard(['wasm:0']),
  },
  {
    name: "shardTo", form: "x.shardTo(devices: string[], axis?: number | null)", gives: "this",
    says: "Shards the tensor itself: replace by shard.",
  },
  {
    name: "shardLike", form: "x.shardLike(y: Tensor)", gives: "Tensor",
    says: "shardLike gives t on the devices of o, cut along the same axis or whole like it. Both have the same number of axes where o is cut.",
    uses: ["x"],
    run: ({ w, x }) => x.shardLike(x.shard(['wasm:0'])),
  },
  {
    name: "devices", form: "x.devices()", gives: "a promise",
    says: "devices are the names of the devices that t lies on, in the order of its parts; none for constants, which fit any.",
  },
  {
    name: "cutAxis", form: "x.cutAxis()", gives: "a promise",
    says: "cutAxis is the axis that t is cut along, or Replicated where each of its devices has all of it, as one device has. It looks through what t is computed from, and says what cannot be computed as it is cut; nothing is computed.",
  },
]
