package shard

import "github.com/weft-ml/weft/uop"

// foreign is a kernel of the program's own, which each device runs for itself on arguments that it has whole.
func (s *Spreader) foreign(u *uop.UOp) (Value, error) {
	cut, free, by, err := s.together(u, u.Src())
	if err != nil {
		return Value{}, err
	}
	if cut != Whole {
		return Value{}, s.fail(u, u.Shape(), cut, "and the kernel %s is text for whole arrays; have them whole on each device", u.Arg().(uop.ForeignArg).Name)
	}
	out := Value{Cut: Whole, Free: free, Parts: make([]*uop.UOp, len(by))}
	for i, src := range by {
		out.Parts[i] = u.Home().Make(u.Op(), u.DType(), u.Arg(), src...)
	}
	return out, nil
}
