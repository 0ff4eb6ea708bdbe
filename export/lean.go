package export

import "bytes"

// lean is a script without its comments, and without what lines are indented by: a page loads it each time. A comment behind code goes where
// no text before it is left open, so that texts stay as they are.
func lean(script []byte) (out []byte) {
	block := false
	for line := range bytes.Lines(script) {
		text := bytes.TrimLeft(line, " ")
		switch {
		case block || bytes.HasPrefix(text, []byte("/*")):
			block = !bytes.Contains(text, []byte("*/"))
		case bytes.HasPrefix(text, []byte("//")) || len(bytes.TrimSpace(text)) == 0:
		default:
			if code, _, found := bytes.Cut(text, []byte(" // ")); found && closed(code) {
				text = append(bytes.TrimRight(code, " "), '\n')
			}
			out = append(out, text...)
		}
	}
	return out
}

// closed says that each quotation mark in a line of code has another one.
func closed(code []byte) bool {
	for _, mark := range []string{"'", `"`, "`"} {
		if bytes.Count(code, []byte(mark))%2 != 0 {
			return false
		}
	}
	return true
}
