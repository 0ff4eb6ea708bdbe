// Package torchops runs folders of conformance cases recorded from PyTorch against Weft's tensors,
// on any device.
//
// A folder holds cases.jsonl (one call a line: arguments, outputs, gradients, tolerances) and
// tensors.bin (their bytes). The package knows that format, how torch names and orders the
// parameters of each op (the tables ops_*.go), and how outputs are compared. It refuses to
// know particular cases: whatever op and argument the tables name must work for every shape and type.
//
// A case whose op has no row in the tables counts as "not yet"; so does one that needs an element
// type that Weft does not have. Everything else passes or fails.
//
//	WEFT_TORCH_OPS=DIR WEFT_DEVICES=CPU,INTERP go test ./tests/... -run TorchOps -v
package torchops
