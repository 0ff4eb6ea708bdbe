package export

import "bytes"

// lean is a script without the lines that are only comments, and without what lines are indented by: a page loads it each time.
func lean(script []byte) (out []byte) {
	block := false
	for line := range bytes.Lines(script) {
		text := bytes.TrimLeft(line, " ")
		switch {
		case block || bytes.HasPrefix(text, []byte("/*")):
			block = !bytes.Contains(text, []byte("*/"))
		case bytes.HasPrefix(text, []byte("//")) || len(bytes.TrimSpace(text)) == 0:
		default:
			out = append(out, text...)
		}
	}
	return out
}
