//go:build !js

package runtime

// remedy is what helps where memory ends.
const remedy = "free tensors, use smaller batches or raise WEFT_MEM"
