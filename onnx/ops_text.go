package onnx

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// NotYetError is what a file may ask for and this package does not do yet.
type NotYetError struct{ What string }

func (e *NotYetError) Error() string { return e.What + ": not yet" }

// notYet ends an operator that does not do something yet.
func (c *call) notYet(what string) { panic(&opError{&NotYetError{what}}) }

// broadcastIndex calls each with the places in arrays of two shapes that meet at each place of their common shape.
func (c *call) broadcastIndex(a, b []int, each func(i, j int)) []int {
	rank := max(len(a), len(b))
	shape := make([]int, rank)
	for k := range shape {
		x, y := 1, 1
		if i := len(a) - rank + k; i >= 0 {
			x = a[i]
		}
		if i := len(b) - rank + k; i >= 0 {
			y = b[i]
		}
		switch {
		case x == y || y == 1:
			shape[k] = x
		case x == 1:
			shape[k] = y
		default:
			c.fail("%v and %v do not broadcast", a, b)
		}
	}
	place := func(s []int, n int) int {
		at, stride := 0, 1
		for k := rank - 1; k >= 0; k-- {
			here := n % max(1, shape[k])
			n /= max(1, shape[k])
			if i := len(s) - rank + k; i >= 0 {
				if s[i] > 1 {
					at += here * stride
				}
				stride *= s[i]
			}
		}
		return at
	}
	for n := range c.listed(shape...) {
		each(place(a, n), place(b, n))
	}
	return shape
}

// textPairs compares strings.
func (c *call) textPairs(f func(a, b string) bool) []*Value {
	x, y := c.strings(0), c.strings(1)
	raw := []byte{}
	shape := c.broadcastIndex(c.in[0].shape, c.in[1].shape, func(i, j int) {
		raw = append(raw, 0)
		if f(x[i], y[j]) {
			raw[len(raw)-1] = 1
		}
	})
	return []*Value{{elem: Bool, shape: shape, raw: raw, known: true}}
}

func stringConcat(c *call) []*Value {
	x, y := c.strings(0), c.strings(1)
	out := []string{}
	shape := c.broadcastIndex(c.in[0].shape, c.in[1].shape, func(i, j int) {
		c.texts(1, len(x[i])+len(y[j]))
		out = append(out, x[i]+y[j])
	})
	return []*Value{Strings(shape, out)}
}

func stringSplit(c *call) []*Value {
	delimiter := c.attrString("delimiter", "")
	most := c.attrInt("maxsplit", -1)
	if a := c.attr("maxsplit"); a == nil || most < 0 {
		most = -1
	}
	var parts [][]string
	widest := 0
	var counts []int64
	for _, s := range c.strings(0) {
		list := splitText(s, delimiter, most)
		c.texts(len(list), 0) // of parts only the ends are new
		parts, counts, widest = append(parts, list), append(counts, int64(len(list))), max(widest, len(list))
	}
	c.texts(c.listed(len(parts), widest), 0)
	out := []string{}
	for _, list := range parts {
		out = append(out, list...)
		out = append(out, make([]string, widest-len(list))...)
	}
	shape := c.in[0].shape
	return []*Value{Strings(append(slices.Clone(shape), widest), out), intsValue(shape, counts...)}
}

// splitText splits at a delimiter, at most so many times; without a delimiter at runs of white space.
func splitText(s, delimiter string, most int) []string {
	if delimiter != "" {
		if s == "" {
			return nil
		}
		if most < 0 {
			return strings.Split(s, delimiter)
		}
		return strings.SplitN(s, delimiter, most+1)
	}
	var list []string
	s = strings.TrimLeftFunc(s, unicode.IsSpace)
	for s != "" {
		i := strings.IndexFunc(s, unicode.IsSpace)
		if i < 0 || most >= 0 && len(list) == most {
			return append(list, strings.TrimRightFunc(s, unicode.IsSpace))
		}
		list = append(list, s[:i])
		s = strings.TrimLeftFunc(s[i:], unicode.IsSpace)
	}
	return list
}

func stringNormalizer(c *call) []*Value {
	shape := c.value(0).shape
	list := c.strings(0)
	if len(shape) > 2 || len(shape) == 2 && shape[0] != 1 {
		c.fail("strings %v are no list", shape)
	}
	change := strings.Clone
	switch mode := c.attrString("case_change_action", "NONE"); mode {
	case "LOWER":
		change = strings.ToLower
	case "UPPER":
		change = strings.ToUpper
	case "NONE":
	default:
		c.fail("its case_change_action is %.40q", mode)
	}
	exact := c.attrBool("is_case_sensitive", false)
	stop := c.attrStrings("stopwords")
	out := []string{}
	for _, s := range list {
		drop := slices.ContainsFunc(stop, func(w string) bool {
			return w == s || !exact && strings.EqualFold(w, s)
		})
		if !drop {
			c.texts(1, 3*len(s)) // few letters become longer when their case changes, none more than so
			out = append(out, change(s))
		}
	}
	if len(out) == 0 {
		out = append(out, "")
	}
	dims := []int{len(out)}
	if len(shape) == 2 {
		dims = []int{1, len(out)}
	}
	return []*Value{Strings(dims, out)}
}

func regexFullMatch(c *call) []*Value {
	pattern := c.attrString("pattern", "")
	re, err := regexp.Compile(`^(?:` + pattern + `)$`)
	if err != nil {
		c.fail("its pattern: %w", err)
	}
	list := c.strings(0)
	raw := make([]byte, len(list))
	for i, s := range list {
		if re.MatchString(s) {
			raw[i] = 1
		}
	}
	return []*Value{{elem: Bool, shape: c.in[0].shape, raw: raw, known: true}}
}

// tfIdf counts n-grams that a pool lists, of each row.
func tfIdf(c *call) []*Value {
	v := c.value(0)
	var words []string
	var numbers []int
	if v.elem == String {
		words = v.strs
	} else {
		numbers = c.ints(0)
	}
	if len(v.shape) > 2 {
		c.fail("an array %v is no list", v.shape)
	}
	p := c.gramPool(v.elem == String)
	rows, n := 1, count(v.shape)
	if len(v.shape) == 2 {
		rows, n = v.shape[0], v.shape[1]
	}
	out := make([]float32, c.listed(rows, p.width))
	for r := range rows {
		for i, g := range p.grams {
			k := 0
			for skip := 0; skip <= p.skips; skip++ {
				if skip > 0 && len(g.words)+len(g.numbers) == 1 {
					break
				}
				k += p.count(g, skip+1, n, func(at int) (string, int) {
					if words != nil {
						return words[r*n+at], 0
					}
					return "", numbers[r*n+at]
				})
			}
			out[r*p.width+p.at[i]] += float32(k)
		}
		for i := range p.grams {
			at := r*p.width + p.at[i]
			w := float32(1)
			if p.weights != nil {
				w = float32(p.weights[i])
			}
			switch p.mode {
			case "IDF":
				out[at] = float32(math.Min(1, float64(out[at]))) * w
			case "TFIDF":
				out[at] *= w
			}
		}
	}
	shape := []int{p.width}
	if len(v.shape) == 2 {
		shape = []int{rows, p.width}
	}
	return []*Value{floatsValue(shape, out...)}
}

type gram struct {
	words   []string
	numbers []int
}

type gramPool struct {
	grams   []gram
	at      []int
	weights []float64
	mode    string
	skips   int
	width   int
}

// count counts an n-gram in a row of n, its parts so far apart.
func (p *gramPool) count(g gram, apart, n int, word func(at int) (string, int)) (k int) {
	size := max(len(g.words), len(g.numbers))
	for from := 0; from+(size-1)*apart < n; from++ {
		same := true
		for i := range size {
			s, m := word(from + i*apart)
			same = same && (g.words != nil && s == g.words[i] || g.numbers != nil && m == g.numbers[i])
		}
		if same {
			k++
		}
	}
	return k
}

func (c *call) gramPool(text bool) *gramPool {
	lo, hi := c.attrInt("min_gram_length", 1), c.attrInt("max_gram_length", 1)
	p := &gramPool{mode: c.attrString("mode", "TF"), skips: c.attrInt("max_skip_count", 0), weights: c.attrFloats("weights")}
	counts, _ := c.attrInts("ngram_counts")
	places, _ := c.attrInts("ngram_indexes")
	words := c.attrStrings("pool_strings")
	numbers, _ := c.attrInts("pool_int64s")
	size := len(numbers)
	if text {
		size = len(words)
	}
	next := 0
	for i, from := range counts {
		to := size
		if i+1 < len(counts) {
			to = counts[i+1]
		}
		if from < 0 || to < from || to > size || (to-from)%(i+1) != 0 {
			c.fail("the n-grams of %d are at %d to %d of %d", i+1, from, to, size)
		}
		for ; from < to; from += i + 1 {
			if next >= len(places) || places[next] < 0 || places[next] > 1<<24 {
				c.fail("n-gram %d has no place", next)
			}
			if i+1 >= lo && i+1 <= hi {
				g := gram{}
				if text {
					g.words = words[from : from+i+1]
				} else {
					g.numbers = numbers[from : from+i+1]
				}
				p.grams, p.at = append(p.grams, g), append(p.at, places[next])
				if p.weights != nil && next >= len(p.weights) {
					c.fail("n-gram %d has no weight", next)
				}
			}
			p.width = max(p.width, places[next]+1)
			next++
		}
	}
	if p.weights != nil { // of those that count
		var own []float64
		k := 0
		for i, from := range counts {
			to := size
			if i+1 < len(counts) {
				to = counts[i+1]
			}
			for ; from < to; from += i + 1 {
				if i+1 >= lo && i+1 <= hi {
					own = append(own, p.weights[k])
				}
				k++
			}
		}
		p.weights = own
	}
	if p.skips < 0 || p.skips > 1<<16 {
		c.fail("it skips %d", p.skips)
	}
	return p
}

func init() {
	register("", map[string]operator{
		"StringConcat": stringConcat, "StringSplit": stringSplit, "StringNormalizer": stringNormalizer, "RegexFullMatch": regexFullMatch,
		"TfIdfVectorizer": tfIdf,
	})
}
