package uop

// Recurrence is what a scan does in each step where no monoid says it: what it holds is made of what it held before and of an element. It begins with
// zeros, its steps are done in their order, and nothing splits them. Only schedules have such scans.
type Recurrence struct {
	State []*UOp // Regs that stand for what it holds,
	Items []*UOp // and for the parts of an element
	Next  []*UOp // what it holds then
}

// Results is how many parts a scan has.
func (a ScanArg) Results() int {
	if a.Step == nil {
		return a.Parts
	}
	return len(a.Step.Next)
}

// Start is what a scan of an element of these parts begins with.
func (a ScanArg) Start(parts []*UOp) []*UOp {
	out := make([]*UOp, a.Results())
	for i := range out {
		if a.Step == nil {
			out[i] = parts[i].Const(a.Monoid.Info().Identity(parts[i].dtype, i))
		} else {
			out[i] = parts[0].home.ConstOf(a.Step.Next[i].dtype, ValueOf(a.Step.Next[i].dtype, 0))
		}
	}
	return out
}

// Merge gives what a scan holds after the element x, from what it held before.
func (a ScanArg) Merge(acc, x []*UOp) []*UOp {
	if a.Step == nil {
		return a.Monoid.Info().Merge(acc, x)
	}
	with := make(map[*UOp]*UOp, len(acc)+len(x))
	for i, s := range a.Step.State {
		with[s] = acc[i]
	}
	for i, s := range a.Step.Items {
		with[s] = x[i]
	}
	return Substitute(x[0].home, with, a.Step.Next...)
}
