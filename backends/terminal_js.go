package backends

import "io"

// terminal says whether what is written is shown to a person at once: a page's console shows no colours.
func terminal(io.Writer) bool { return false }
