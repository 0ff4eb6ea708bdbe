package saved

import "github.com/weft-ml/weft/uop"

// HasDomain says whether the element types of an elementwise op are known.
func HasDomain(o uop.Op) bool { return domainOf(o) != nil }
