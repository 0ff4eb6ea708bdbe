package fuzz

// Open are defects that are known and not mended yet: what shows them is counted and not reported. An entry goes with
// its defect.
var Open = []struct {
	Name  string
	Shows func(f *Finding) bool
}{}

// known gives the name of the open defect that a finding shows, or "".
func known(f *Finding) string {
	for _, o := range Open {
		if o.Shows(f) {
			return o.Name
		}
	}
	return ""
}
