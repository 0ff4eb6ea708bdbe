package codegen

// Choose gives moves for a kernel: hand-tuned rules over what the accesses look like, never over what kind of
// kernel it is.
func Choose(spec *Spec, target *Target) []Move {
	return nil
}
