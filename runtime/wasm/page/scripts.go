package page

import "embed"

// Scripts are the player's modules, for who gives them to a page without the engine: processor.js is the one to import.
//
//go:embed processor.js threads.js spares.js thread.js lent.js
var Scripts embed.FS
