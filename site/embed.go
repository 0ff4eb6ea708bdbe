// Package site holds the files of the page that looks inside, for programs that serve it themselves. It knows nothing of what they show.
package site

import "embed"

// Files are the page and what it loads, but not the engine.
//
//go:embed assets inside
var Files embed.FS
