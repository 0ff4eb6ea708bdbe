package nn

import (
	"fmt"
	"math"
)

// setting is a number that an optimiser is made with.
type setting struct {
	name         string
	value, below float64
}

// number is a setting from 0 on.
func number(name string, v float64) setting { return setting{name, v, math.Inf(1)} }

// remembered is a share of what was that is kept: 1 would keep it for ever.
func remembered(name string, v float64) setting { return setting{name, v, 1} }

// checked is an error that names the first setting out of its range.
func checked(optimiser string, list ...setting) error {
	for _, s := range list {
		switch {
		case s.value >= 0 && s.value < s.below:
		case s.value >= s.below && s.below == 1:
			return fmt.Errorf("nn: %s: %s is %v; it must be less than 1", optimiser, s.name, s.value)
		default:
			return fmt.Errorf("nn: %s: %s is %v; it must be a finite number, not negative", optimiser, s.name, s.value)
		}
	}
	return nil
}
