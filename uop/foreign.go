package uop

import "github.com/weft-ml/weft/dtype"

// ForeignArg is one result of a kernel that the program wrote in the language of a target. What it does is not known here, and nothing can
// be proven of it. The first Args sources of the node are its arguments; the one behind them, if there is one, is the same result as a
// graph, for all who cannot run the text.
type ForeignArg struct {
	Name    string
	Args    int
	Result  int
	Results Ints // of each result its type, its rank and its sizes, see ForeignResults
	Texts   [2]ForeignText
}

// ForeignText is what a kernel does in one language, and how it is launched.
type ForeignText struct {
	Language string // name of the target
	Text     string
	Threads  int // iterations, or workgroups
	Group    int // invocations of a workgroup
}

func (ForeignArg) arg() {}

// ForeignResult is the type and the shape of one result.
type ForeignResult struct {
	DType dtype.DType
	Shape Shape
}

// ForeignResults packs what a kernel gives.
func ForeignResults(list ...ForeignResult) Ints {
	var v []int
	for _, r := range list {
		v = append(append(v, int(r.DType), len(r.Shape)), r.Shape...)
	}
	return MakeInts(v...)
}

// All are the results, unpacked.
func (a ForeignArg) All() (list []ForeignResult) {
	for v := a.Results.Slice(); len(v) > 0; v = v[2+v[1]:] {
		list = append(list, ForeignResult{dtype.DType(v[0]), v[2 : 2+v[1]]})
	}
	return list
}

// In is the text in a language, if there is one.
func (a ForeignArg) In(language string) (t ForeignText, ok bool) {
	for _, t := range a.Texts {
		if t.Text != "" && t.Language == language {
			return t, true
		}
	}
	return t, false
}
