package page

import "embed"

// Scripts are the player's module, for who gives it to a page without the engine.
//
//go:embed player.js
var Scripts embed.FS
