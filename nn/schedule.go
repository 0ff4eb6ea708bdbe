package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/weft-ml/weft/tensor"
)

// A Schedule gives the learning rate of each step, from step 0 on.
//
//	rate := nn.CosineAnnealing(1e-3, 200, 0)
//	for step := range steps { opt.SetRate(rate(step)); … }
type Schedule func(step int) float64

// Sequence follows one schedule after the other: the next one begins, with its own step 0, at each milestone. There is one milestone
// less than schedules.
//
//	warm := nn.LinearRamp(1e-3, 0.01, 1, 500)
//	rate := nn.Sequence([]int{500}, warm, nn.CosineAnnealing(1e-3, 9500, 0))
func Sequence(milestones []int, schedules ...Schedule) Schedule {
	if len(schedules) != len(milestones)+1 || !slices.IsSorted(milestones) {
		panic(&tensor.ArgumentError{Op: "Sequence", Reason: fmt.Sprintf("%d schedules and milestones %v; there must be one less of these, in ascending order",
			len(schedules), milestones), At: tensor.Caller()})
	}
	return func(t int) float64 {
		at, start := 0, 0
		for at < len(milestones) && t >= milestones[at] {
			start = milestones[at]
			at++
		}
		return schedules[at](t - start)
	}
}

// Product multiplies the rates of schedules at each step: one with the rate and others, made with the rate 1, that are factors of it.
func Product(schedules ...Schedule) Schedule {
	return func(t int) float64 {
		rate := 1.0
		for _, s := range schedules {
			rate *= s(t)
		}
		return rate
	}
}

// positive fails where a number of steps is none.
func positive(op, what string, n int) {
	if n < 1 {
		panic(&tensor.ArgumentError{Op: op, Reason: fmt.Sprintf("%s is %d; it must be 1 or more", what, n), At: tensor.Caller()})
	}
}

// StepDecay multiplies the rate by gamma every size steps.
func StepDecay(rate float64, size int, gamma float64) Schedule {
	positive("StepDecay", "size", size)
	return func(t int) float64 { return rate * math.Pow(gamma, float64(t/size)) }
}

// MultiStep multiplies the rate by gamma at each milestone; a milestone may be named twice.
func MultiStep(rate float64, milestones []int, gamma float64) Schedule {
	return func(t int) float64 {
		passed := 0
		for _, m := range milestones {
			if m <= t {
				passed++
			}
		}
		return rate * math.Pow(gamma, float64(passed))
	}
}

// Exponential multiplies the rate by gamma at every step.
func Exponential(rate, gamma float64) Schedule {
	return func(t int) float64 { return rate * math.Pow(gamma, float64(t)) }
}

// Constant multiplies the rate by factor for the first steps steps.
func Constant(rate, factor float64, steps int) Schedule {
	return func(t int) float64 {
		if t < steps {
			return rate * factor
		}
		return rate
	}
}

// LinearRamp moves the factor of the rate from start to end within the first steps steps.
func LinearRamp(rate, start, end float64, steps int) Schedule {
	positive("LinearRamp", "steps", steps)
	return func(t int) float64 {
		return rate * (start + (end-start)*float64(min(t, steps))/float64(steps))
	}
}

// Polynomial is rate·(1 − t/steps)^power, and 0 from step steps on.
func Polynomial(rate float64, steps int, power float64) Schedule {
	positive("Polynomial", "steps", steps)
	return func(t int) float64 {
		return rate * math.Pow(1-float64(min(t, steps))/float64(steps), power)
	}
}

// CosineAnnealing swings between rate and least along a cosine of half period steps.
func CosineAnnealing(rate float64, steps int, least float64) Schedule {
	positive("CosineAnnealing", "steps", steps)
	return func(t int) float64 { return cosine(rate, least, float64(t)/float64(steps)) }
}

// CosineRestarts falls from rate to least along half a cosine, again and again: the first fall takes
// first steps, each next one mult times the one before.
func CosineRestarts(rate float64, first, mult int, least float64) Schedule {
	positive("CosineRestarts", "first", first)
	positive("CosineRestarts", "mult", mult)
	return func(t int) float64 {
		length := first
		for t >= length {
			t -= length
			if length > math.MaxInt/mult {
				length = math.MaxInt
			} else {
				length *= mult
			}
		}
		return cosine(rate, least, float64(t)/float64(length))
	}
}

// cosine is half a cosine wave from a (at 0) to b (at 1).
func cosine(a, b, at float64) float64 { return b + (a-b)*(1+math.Cos(math.Pi*at))/2 }

// OneCycle is the schedule of Smith and Topin (2018). Zero fields have the values of the comments,
// except Steps and Max, which must be given.
type OneCycle struct {
	Max        float64 // the highest rate
	Steps      int     // the whole length
	Warm       float64 // share of the steps in which the rate rises: 0.3; a negative number: none
	Linear     bool    // straight lines instead of cosines
	Div        float64 // Max / the first rate: 25
	FinalDiv   float64 // the first rate / the last one: 1e4
	ThreePhase bool    // fall back to the first rate as slowly as it rose, then to the last one
}

// Schedule gives the rates; steps at or past Steps keep the last one. Without steps to rise in, the rate begins at Max.
func (o OneCycle) Schedule() Schedule {
	positive("OneCycle", "Steps", o.Steps)
	if !(o.Warm <= 1) {
		panic(&tensor.ArgumentError{Op: "OneCycle", Reason: fmt.Sprintf("Warm is %v; it must be a share of the steps, from 0 to 1, or negative for none", o.Warm), At: tensor.Caller()})
	}
	first := o.Max / or(o.Div, 25)
	last := first / or(o.FinalDiv, 1e4)
	warm, n := share(o.Warm, 0.3), float64(o.Steps)
	type leg struct{ end, from, to float64 }
	legs := []leg{{warm*n - 1, first, o.Max}, {n - 1, o.Max, last}}
	if o.ThreePhase {
		legs = []leg{{warm*n - 1, first, o.Max}, {2*warm*n - 2, o.Max, first}, {n - 1, first, last}}
	}
	return func(t int) float64 {
		start, at := 0.0, math.Min(float64(t), n-1)
		for i, l := range legs {
			if at <= l.end || i == len(legs)-1 {
				p := 1.0 // of a leg of no steps
				if l.end != start {
					p = (at - start) / (l.end - start)
				}
				if o.Linear {
					return l.from + (l.to-l.from)*p
				}
				return cosine(l.from, l.to, p)
			}
			start = l.end
		}
		return last
	}
}

// Cyclic is the schedule of Smith (2015): the rate climbs from Base to Max in Up steps and falls back in
// Down steps (0: as many).
type Cyclic struct {
	Base, Max float64
	Up, Down  int
	Halve     bool    // each cycle is half as high as the one before
	Gamma     float64 // the height at step t is multiplied by Gamma^t; 0 means 1
}

// Schedule gives the rates.
func (c Cyclic) Schedule() Schedule {
	positive("Cyclic", "Up", c.Up)
	down := c.Down
	if down == 0 {
		down = c.Up
	}
	positive("Cyclic", "Down", down)
	total := float64(c.Up + down)
	peak := float64(c.Up) / total
	return func(t int) float64 {
		cycle := math.Floor(1 + float64(t)/total)
		x := 1 + float64(t)/total - cycle
		height := x / peak
		if x > peak {
			height = (x - 1) / (peak - 1)
		}
		height *= c.Max - c.Base
		if c.Halve {
			height /= math.Pow(2, cycle-1)
		}
		if c.Gamma != 0 {
			height *= math.Pow(c.Gamma, float64(t))
		}
		return c.Base + height
	}
}

// Plateau lowers the rate when a metric has stopped improving. Make it with NewPlateau and change
// fields before the first Step.
type Plateau struct {
	Rate      float64 // the current rate
	Factor    float64 // the rate is multiplied by it: 0.1
	Patience  int     // how many steps without improvement are borne: 10
	Threshold float64 // the least improvement that counts: 1e-4
	Absolute  bool    // Threshold is a difference, not a share of the best value
	Rising    bool    // larger metrics are better
	Cooldown  int     // steps to wait after a cut before bad ones count
	Least     float64 // the rate does not fall below
	Smallest  float64 // cuts smaller than this are not made: 1e-8

	best     float64
	bad      int
	resting  int
	observed bool
}

// NewPlateau gives a Plateau with the defaults named at its fields.
func NewPlateau(rate float64) *Plateau {
	return &Plateau{Rate: rate, Factor: 0.1, Patience: 10, Threshold: 1e-4, Smallest: 1e-8}
}

// Step takes the metric of a step and gives the rate of the next one.
func (p *Plateau) Step(metric float64) float64 {
	if p.better(metric) {
		p.best, p.bad, p.observed = metric, 0, true
	} else {
		p.bad++
	}
	if p.resting > 0 {
		p.resting--
		p.bad = 0
	}
	if p.bad > p.Patience {
		if next := math.Max(p.Rate*p.Factor, p.Least); p.Rate-next > p.Smallest {
			p.Rate = next
		}
		p.resting, p.bad = p.Cooldown, 0
	}
	return p.Rate
}

func (p *Plateau) better(v float64) bool {
	if !p.observed { // the first number is better than none
		worst := 1
		if p.Rising {
			worst = -1
		}
		return !math.IsNaN(v) && !math.IsInf(v, worst)
	}
	margin := p.Threshold
	if !p.Absolute {
		margin *= p.best
	}
	if p.Rising {
		return v > p.best+margin
	}
	return v < p.best-margin
}

// String names the plateau's state for logs.
func (p *Plateau) String() string {
	return fmt.Sprintf("rate %g, best %g, %d bad steps", p.Rate, p.best, p.bad)
}
