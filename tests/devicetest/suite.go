package devicetest

import (
	"hash/fnv"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strings"

	need "github.com/weft-ml/weft/tests/require"
	"github.com/weft-ml/weft/uop"
)

// suite collects cases. Its random numbers choose shapes and arguments; a case draws its data from a seed of its own,
// which follows from its name, so that a case stays the same when others are added.
type suite struct {
	rng   *rand.Rand
	seed  uint64
	cases []Case
}

func newSuite(seed uint64) *suite {
	return &suite{rng: rand.New(rand.NewPCG(seed, 7)), seed: seed}
}

// add adds a case.
func (s *suite) add(name string, tol Tolerance, build func(in *Inputs) []*uop.UOp) {
	h := fnv.New64a()
	h.Write([]byte(name))
	s.cases = append(s.cases, Case{Name: name, Tol: tol, Build: build, seed: h.Sum64() + s.seed})
}

// one adds a case with one root.
func (s *suite) one(name string, tol Tolerance, build func(in *Inputs) *uop.UOp) {
	s.add(name, tol, func(in *Inputs) []*uop.UOp { return []*uop.UOp{build(in)} })
}

// matching are the cases whose name contains a text, or a part of them.
func (s *suite) matching(text string, part int) []Case {
	var out []Case
	for _, c := range s.cases {
		if strings.Contains(c.Name, text) {
			out = append(out, c)
		}
	}
	return need.Part(out, part, s.seed, func(c Case) (op, name string) { return opOf(c.Name), c.Name })
}

// each says of how many cases one is run, unless it is said elsewhere: all, where WEFT_CASE names some.
func each(n int) int {
	if os.Getenv("WEFT_CASE") != "" {
		n = 1
	}
	return need.Each(n)
}

// opOf is the op that a case is of: its name as far as no number, no shape and no type follows.
func opOf(name string) string {
	words := strings.Fields(name)
	for i, w := range words {
		if i > 0 && strings.ContainsAny(w, "0123456789[]") {
			return strings.Join(words[:i], " ")
		}
	}
	return name
}

// sizes are no multiples of a vector, or just beside one.
var sizes = []int{1, 2, 3, 5, 7, 8, 9, 16, 17, 31, 33, 65, 100, 257}

// shape is a random shape of at most n elements.
func (s *suite) shape(rank, n int) []int {
	out := make([]int, rank)
	for i := range out {
		d := sizes[s.rng.IntN(len(sizes))]
		for d > n {
			d = sizes[s.rng.IntN(len(sizes))]
		}
		out[i] = d
		n /= d
	}
	s.rng.Shuffle(rank, func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// stack is where a panic came from.
func stack() string {
	lines := strings.Split(string(debug.Stack()), "\n")
	var out []string
	for _, l := range lines {
		if strings.Contains(l, ".go:") && !strings.Contains(l, "/runtime/") && !strings.Contains(l, "devicetest") {
			out = append(out, strings.TrimSpace(l))
		}
	}
	return strings.Join(out[:min(len(out), 12)], "\n")
}
