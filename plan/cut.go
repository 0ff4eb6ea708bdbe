package plan

// LongestLaunch is how many seconds a launch on a graphics processor may be predicted to take. Browsers and drivers reset
// a processor that does not answer for some seconds.
const LongestLaunch = 0.5

// mostParts bounds the submissions that a kernel becomes, whatever is predicted.
const mostParts = 256

// Part is some of a kernel's workgroups, in the order in which they are numbered: those from First on, as many as a launch
// of Grid has.
type Part struct {
	First uint32
	Grid  [3]uint32
}

// Seconds predicts how long a launch takes on a device that does at least as much as l says; 0 where it says nothing.
func (k *Kernel) Seconds(l Limits) (s float64) {
	if l.Flops > 0 {
		s = float64(k.Flops) / float64(l.Flops)
	}
	if l.Moves > 0 {
		s = max(s, float64(k.Bytes)/float64(l.Moves))
	}
	return s
}

// Cut gives the parts in which a kernel should be launched so that none is predicted to take longer than LongestLaunch;
// nil where it is quick enough, or one workgroup. Workgroups of two dimensions are numbered row after row, and a part is
// whole rows or lies within one row's length.
func (k *Kernel) Cut(l Limits) (parts []Part) {
	width, all := k.Grid[0], k.Grid[0]*k.Grid[1]
	n := min(k.Seconds(l)/LongestLaunch, mostParts)
	if n <= 1 || all < 2 || k.Grid[2] != 1 {
		return nil
	}
	each := max(1, uint32(float64(all)/n))
	if each > width {
		each = each / width * width
	}
	for first := uint32(0); first < all; first += each {
		size := min(each, all-first)
		if size > width {
			parts = append(parts, Part{first, [3]uint32{width, size / width, 1}})
		} else {
			parts = append(parts, Part{first, [3]uint32{size, 1, 1}})
		}
	}
	return parts
}

// Firsts lists the numbers of the workgroups with which launches of the plan begin, each once and 0 at its head: the
// uniform block has a copy for each.
func (p *Plan) Firsts() []uint32 {
	out := []uint32{0}
	seen := map[uint32]bool{0: true}
	for i := range p.Kernels {
		for _, part := range p.Kernels[i].Parts {
			if !seen[part.First] {
				seen[part.First] = true
				out = append(out, part.First)
			}
		}
	}
	return out
}

// FirstWord is the word of the uniform block that holds the number of a launch's first workgroup: it follows the
// constants and the variables.
func (p *Plan) FirstWord() int { return 4 * (1 + (len(p.Vars)+3)/4) }
