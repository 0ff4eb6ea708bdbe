package native

import "golang.org/x/sys/unix"

// hugePages asks for 2 MiB pages. Large products touch more 4 KiB pages than a processor can
// remember; most systems give large pages only to those who ask. A refusal costs only speed.
func hugePages(b []byte) { _ = unix.Madvise(b, unix.MADV_HUGEPAGE) }
