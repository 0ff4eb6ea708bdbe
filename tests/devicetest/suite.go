package devicetest

import (
	"hash/fnv"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

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

// matching are the cases whose name contains a text, or a part of them where WEFT_EACH says so.
func (s *suite) matching(text string) []Case {
	var out []Case
	for _, c := range s.cases {
		if strings.Contains(c.Name, text) {
			out = append(out, c)
		}
	}
	return Each(out, s.seed)
}

// Each leaves each n-th of some cases where WEFT_EACH is n, others for another seed.
func Each[C any](cases []C, seed uint64) []C {
	each, err := strconv.Atoi(getenv("WEFT_EACH", "1"))
	if err != nil || each < 1 {
		panic("WEFT_EACH is a number from 1 on, not " + os.Getenv("WEFT_EACH"))
	}
	var out []C
	for i := int(seed % uint64(each)); i < len(cases); i += each {
		out = append(out, cases[i])
	}
	return out
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
