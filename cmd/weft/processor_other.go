//go:build !unix

package main

import "time"

// processorTime is nil: weft tune report measures by the time of day here.
var processorTime func() time.Duration
