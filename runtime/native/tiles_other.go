//go:build !linux

package native

import "errors"

// grantTiles: how other systems give out the tile registers of AMX has not been looked into.
func grantTiles() error { return errors.New("not known of this system") }
