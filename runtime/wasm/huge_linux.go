package wasm

import "golang.org/x/sys/unix"

// hugePages asks for 2 MiB pages, which most systems give only to those who ask. A refusal costs only speed.
func hugePages(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }
