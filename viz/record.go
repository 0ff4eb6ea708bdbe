package viz

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/explain"
	"github.com/weft-ml/weft/uop"
)

// Limits of what is kept of a program.
const (
	mostPlans = 200
	mostLaws  = 1 << 20 // of all plans together
)

// Source is what pages are about.
type Source interface {
	// Titles names the plans, and says what was left out.
	Titles() (titles []string, left string)
	// Plan is the i-th.
	Plan(i int) (*Plan, error)
	// Chain are the steps with this name, of those that the plan lists.
	Chain(i int, id string) (*explain.Chain, error)
}

// Plan is a plan in the form of the page.
type Plan struct {
	Title      string      `json:"title"`
	Graph      string      `json:"graph"`
	Schedule   string      `json:"schedule"`
	ArenaBytes int64       `json:"arenaBytes"`
	Kernels    []Kernel    `json:"kernels"`
	Chains     [][2]string `json:"chains"` // name and what it is called
}

// Kernel is a launch.
type Kernel struct {
	Name       string            `json:"name"`
	Kinds      string            `json:"kinds"`
	Directives string            `json:"directives"`
	Flops      int64             `json:"flops"`
	Bytes      int64             `json:"bytes"`
	Source     map[string]string `json:"source"` // by language
}

// Recorder keeps the plans that engines of this process make.
type Recorder struct {
	mu    sync.Mutex
	plans []*engine.Explained
	laws  int
	more  int // plans that were left out
	stop  func()
}

// NewRecorder begins to record.
func NewRecorder() *Recorder {
	r := &Recorder{}
	r.stop = engine.Record(explain.MostLaws, r.add)
	return r
}

// Stop ends it; what was recorded stays.
func (r *Recorder) Stop() { r.stop() }

func (r *Recorder) add(x *engine.Explained) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(x.History.Laws)
	if len(r.plans) >= mostPlans || r.laws+n > mostLaws {
		r.more++
		return
	}
	r.laws += n
	r.plans = append(r.plans, x)
}

// Titles names the plans.
func (r *Recorder) Titles() (titles []string, left string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, x := range r.plans {
		titles = append(titles, titleOf(i, x))
	}
	if r.more > 0 {
		left = fmt.Sprintf("Of %d more plans nothing is kept, so that the program's memory is not taken up by what is shown of it.", r.more)
	}
	return titles, left
}

func titleOf(i int, x *engine.Explained) string {
	return fmt.Sprintf("%d. %d launches for %s, %.3g MFLOP", i+1, len(x.Launches()), x.View.Plan.Target, float64(x.Flops())/1e6)
}

func (r *Recorder) at(i int) (*engine.Explained, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i < 0 || i >= len(r.plans) {
		return nil, fmt.Errorf("there are %d plans, and none has the number %d", len(r.plans), i+1)
	}
	return r.plans[i], nil
}

// languages of targets, as the page calls them.
var languages = map[string]string{"webgpu": "wgsl", "cpu": "c"}

// Plan is the i-th.
func (r *Recorder) Plan(i int) (*Plan, error) {
	x, err := r.at(i)
	if err != nil {
		return nil, err
	}
	p := &Plan{Title: titleOf(i, x), Graph: uop.Print(x.History.Phases[0].Before...), Schedule: x.Schedule.String(), ArenaBytes: x.View.Plan.Peak, Kernels: []Kernel{}}
	target := strings.ToLower(x.View.Plan.Target)
	language := cmp.Or(languages[target], target)
	for _, k := range x.Launches() {
		s := k.Spelled()
		p.Kernels = append(p.Kernels, Kernel{s.Name, s.Kinds, s.Directives, s.Flops, s.Bytes, map[string]string{language: s.Source}})
	}
	p.Chains = [][2]string{{"graph", "the graph"}}
	for k := range x.History.Kernels {
		p.Chains = append(p.Chains, [2]string{fmt.Sprintf("kernel %d", k), fmt.Sprintf("kernel %d: from the graph to its Spec", k+1)},
			[2]string{fmt.Sprintf("passes %d", k), fmt.Sprintf("kernel %d: from its Spec to statements", k+1)})
	}
	return p, nil
}

// Chain are steps of the i-th plan. Replaying them makes nodes in the plan's own arena, so one is replayed at a time.
func (r *Recorder) Chain(i int, id string) (*explain.Chain, error) {
	x, err := r.at(i)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return explain.New(x.History).Chain(id, x.Passes)
}

// Dump is plans with all of their chains, as a file.
type Dump struct {
	Version int        `json:"version"`
	Left    string     `json:"left,omitempty"`
	Plans   []DumpPlan `json:"plans"`
}

// DumpPlan is a plan and its chains, in the order of Plan.Chains.
type DumpPlan struct {
	Plan
	Steps []*explain.Chain `json:"steps"`
}

// version of dumps.
const version = 1

// DumpOf takes all of a source.
func DumpOf(s Source) (*Dump, error) {
	titles, left := s.Titles()
	d := &Dump{Version: version, Left: left, Plans: []DumpPlan{}}
	for i := range titles {
		p, err := s.Plan(i)
		if err != nil {
			return nil, err
		}
		out := DumpPlan{Plan: *p}
		for _, c := range p.Chains {
			chain, err := s.Chain(i, c[0])
			if err != nil {
				chain = &explain.Chain{Title: c[1], Steps: []explain.Step{}, Left: err.Error()}
			}
			out.Steps = append(out.Steps, chain)
		}
		d.Plans = append(d.Plans, out)
	}
	return d, nil
}

// Titles, Plan and Chain make a dump a Source.
func (d *Dump) Titles() (titles []string, left string) {
	for _, p := range d.Plans {
		titles = append(titles, p.Title)
	}
	return titles, d.Left
}

// Plan is the i-th.
func (d *Dump) Plan(i int) (*Plan, error) {
	if i < 0 || i >= len(d.Plans) {
		return nil, fmt.Errorf("there are %d plans, and none has the number %d", len(d.Plans), i+1)
	}
	return &d.Plans[i].Plan, nil
}

// Chain are the steps with this name.
func (d *Dump) Chain(i int, id string) (*explain.Chain, error) {
	p, err := d.Plan(i)
	if err != nil {
		return nil, err
	}
	k := slices.IndexFunc(p.Chains, func(c [2]string) bool { return c[0] == id })
	if k < 0 || k >= len(d.Plans[i].Steps) || d.Plans[i].Steps[k] == nil {
		return nil, fmt.Errorf("the plan has no steps %q", id)
	}
	return d.Plans[i].Steps[k], nil
}
