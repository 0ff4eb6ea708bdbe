package onnx

import (
	"math"
	"slices"

	"github.com/weft-ml/weft/dtype"
	"github.com/weft-ml/weft/tensor"
)

// The comparisons of trees, as TreeEnsemble numbers them; a leaf leads to itself.
const (
	treeLessEqual = iota
	treeLess
	treeGreaterEqual
	treeGreater
	treeEqual
	treeUnequal
	treeMember
	treeLeaf
)

var treeModes = map[string]int{"BRANCH_LEQ": treeLessEqual, "BRANCH_LT": treeLess, "BRANCH_GTE": treeGreaterEqual, "BRANCH_GT": treeGreater,
	"BRANCH_EQ": treeEqual, "BRANCH_NEQ": treeUnequal, "LEAF": treeLeaf}

// treeNode is one node of a forest.
type treeNode struct {
	feature, mode int
	split         float64
	yes, no       int
	missing       bool // NaN leads to yes
	members       []float64
}

// forest is trees whose nodes lie in one list; leaves give weights to targets.
type forest struct {
	nodes   []treeNode
	roots   []int
	targets int
	weights map[int][]weighted // of leaves
}

type weighted struct {
	target int
	weight float64
}

const mostTree = 1 << 26 // elements of a forest's tables

// depth is that of the deepest tree; a node that is its own descendant is an error.
func (f *forest) depth(c *call) int {
	state := make([]int, len(f.nodes)) // depth + 2 when known, 1 while being looked at
	var visit func(at, level int) int
	visit = func(at, level int) int {
		if at < 0 || at >= len(f.nodes) || state[at] == 1 {
			c.fail("node %d of a tree is not there or lies in a circle", at)
		}
		if state[at] > 1 || f.nodes[at].mode == treeLeaf {
			return max(0, state[at]-2)
		}
		if level > 10000 {
			c.fail("a tree is more than 10000 deep")
		}
		state[at] = 1
		d := 1 + max(visit(f.nodes[at].yes, level+1), visit(f.nodes[at].no, level+1))
		state[at] = d + 2
		return d
	}
	deep := 0
	for _, r := range f.roots {
		deep = max(deep, visit(r, 0))
	}
	return deep
}

// column is a property of all nodes as a tensor.
func (f *forest) column(c *call, name string, e Elem, get func(n treeNode) float64) t {
	list := make([]float64, len(f.nodes))
	for i, n := range f.nodes {
		list[i] = get(n)
	}
	return c.table(name, &Value{elem: e, shape: []int{len(list)}, raw: rawOf(e.DType(), list), known: true})
}

// leaves walks all trees with each row of x at once and gives the numbers of the leaves, [rows·trees].
func (f *forest) leaves(c *call, x t) t {
	rows, trees, features := x.Dim(0), len(f.roots), x.Dim(1)
	used := map[int]bool{}
	for _, n := range f.nodes {
		if n.mode != treeLeaf && (n.feature < 0 || n.feature >= features) {
			c.fail("a tree asks for feature %d of %d", n.feature, features)
		}
		used[n.mode] = true
	}
	roots := make([]int64, trees)
	for i, r := range f.roots {
		roots[i] = int64(r)
	}
	e := elemOf(x.DType())
	feature := f.column(c, "feature", Int64, func(n treeNode) float64 { return float64(n.feature) })
	yes, no := f.column(c, "yes", Int64, func(n treeNode) float64 { return float64(n.yes) }), f.column(c, "no", Int64, func(n treeNode) float64 { return float64(n.no) })
	split, mode := f.column(c, "split", e, func(n treeNode) float64 { return n.split }), f.column(c, "mode", Int32, func(n treeNode) float64 { return float64(n.mode) })
	var missing t // where no value of a feature takes the branch of a comparison that holds; nil: nowhere
	if slices.ContainsFunc(f.nodes, func(n treeNode) bool { return n.missing }) {
		missing = f.column(c, "missing", Int32, func(n treeNode) float64 {
			if n.missing {
				return 1
			}
			return 0
		})
	}
	at := c.table("roots", intsValue([]int{trees}, roots...)).Reshape(1, trees).Expand(rows, trees).Reshape(rows * trees)
	start := tensor.ArangeOf(dtype.I64, 0, rows, 1).Mul(features).Reshape(rows, 1).Expand(rows, trees).Reshape(rows * trees)
	flat := x.Reshape(rows * features)
	of := func(x, at t) t { return c.at(x, 0, at) } // all are inside: the features by the check above, the nodes by that of depth
	for range f.depth(c) {
		v := of(flat, start.Add(of(feature, at)))
		s, m := of(split, at), of(mode, at)
		ok := v.Le(s)
		compare := [...]func() t{treeLess: func() t { return v.Lt(s) }, treeGreaterEqual: func() t { return v.Ge(s) },
			treeGreater: func() t { return v.Gt(s) }, treeEqual: func() t { return v.Eq(s) }, treeUnequal: func() t { return v.Ne(s) },
			treeMember: func() t { return f.member(c, v, at, e) }}
		for k, cond := range compare { // in order, that the kernels of two runs are the same
			if cond != nil && used[k] {
				ok = m.Eq(k).Where(cond(), ok)
			}
		}
		if missing != nil {
			ok = v.IsNaN().LogicalAnd(of(missing, at).Ne(0)).LogicalOr(ok)
		}
		at = ok.Where(of(yes, at), of(no, at)).Contiguous()
	}
	return at
}

// member says which values are among those that their node lists.
func (f *forest) member(c *call, v, at t, e Elem) t {
	widest := 1
	for _, n := range f.nodes {
		widest = max(widest, len(n.members))
	}
	if widest > mostTree/max(1, len(f.nodes)) {
		c.fail("a tree lists %d values of %d nodes", widest, len(f.nodes))
	}
	table := make([]float64, 0, widest*len(f.nodes))
	for _, n := range f.nodes {
		for i := range widest {
			if i < len(n.members) {
				table = append(table, n.members[i])
			} else {
				table = append(table, math.NaN())
			}
		}
	}
	shape := []int{len(f.nodes), widest}
	list := c.table("members", &Value{elem: e, shape: shape, raw: rawOf(e.DType(), table), known: true})
	return c.at(list, 0, at).Eq(v.Unsqueeze(1)).Any(1)
}

// scores are those of rows, [rows, targets], merged over trees. seen are the targets that a leaf weighs.
func (f *forest) scores(c *call, x t, how string) t {
	if f.targets < 1 || f.targets > mostTree/max(1, len(f.nodes)) || len(f.roots) == 0 {
		c.fail("%d trees of %d nodes for %d targets", len(f.roots), len(f.nodes), f.targets)
	}
	none := map[string]float64{"MIN": math.Inf(1), "MAX": math.Inf(-1)}[how]
	table := slices.Repeat([]float64{none}, len(f.nodes)*f.targets)
	for at, list := range f.weights {
		for _, w := range list {
			if w.target < 0 || w.target >= f.targets {
				c.fail("a leaf weighs target %d of %d", w.target, f.targets)
			}
			if i := at*f.targets + w.target; how == "MIN" || how == "MAX" {
				table[i] = w.weight
			} else {
				table[i] += w.weight
			}
		}
	}
	shape := []int{len(f.nodes), f.targets}
	e := elemOf(x.DType())
	values := c.table("values", &Value{elem: e, shape: shape, raw: rawOf(e.DType(), table), known: true})
	got := c.at(values, 0, f.leaves(c, x)).Reshape(x.Dim(0), len(f.roots), f.targets)
	switch how {
	case "SUM":
		return got.Sum(1)
	case "AVERAGE":
		return got.Sum(1).Div(len(f.roots))
	case "MIN":
		got = got.Min(1)
	case "MAX":
		got = got.Max(1)
	default:
		c.fail("its aggregate_function is %.40q", how)
	}
	return got.IsInf().Where(0.0, got).To(x.DType())
}

// treeEnsemble is the operator of version 5: inner nodes and leaves lie in lists of their own.
func treeEnsemble(c *call) []*Value {
	x := wide(c.t(0))
	if x.Rank() == 1 {
		x = x.Unsqueeze(0)
	}
	list := func(name string, n int) []int {
		v, _ := c.attrInts(name)
		if len(v) != n {
			c.fail("%s has %d numbers where there are %d nodes", name, len(v), n)
		}
		return v
	}
	numbers := func(name string) []float64 {
		v := c.attrTensor(name)
		if v == nil {
			return nil
		}
		return numbersOf(v.elem, c.r.host(v))
	}
	feature, _ := c.attrInts("nodes_featureids")
	n := len(feature)
	yes, no, yesLeaf, noLeaf := list("nodes_truenodeids", n), list("nodes_falsenodeids", n), list("nodes_trueleafs", n), list("nodes_falseleafs", n)
	modes, splits, weights := numbers("nodes_modes"), numbers("nodes_splits"), numbers("leaf_weights")
	targets := list("leaf_targetids", len(weights))
	missing, _ := c.attrInts("nodes_missing_value_tracks_true")
	if len(modes) != n || len(splits) != n || missing != nil && len(missing) != n {
		c.fail("%d modes, %d splits of %d nodes", len(modes), len(splits), n)
	}
	f := &forest{targets: c.attrInt("n_targets", 1), weights: map[int][]weighted{}}
	f.roots, _ = c.attrInts("tree_roots")
	members := numbers("membership_values")
	for i := range n {
		node := treeNode{feature: feature[i], mode: int(modes[i]), split: splits[i], yes: yes[i], no: no[i], missing: missing != nil && missing[i] != 0}
		if node.mode < 0 || node.mode > treeMember {
			c.fail("node %d compares by %v", i, modes[i])
		}
		if yesLeaf[i] != 0 {
			node.yes += n
		}
		if noLeaf[i] != 0 {
			node.no += n
		}
		if node.mode == treeMember { // lists end with NaN
			for len(members) > 0 && members[0] == members[0] {
				node.members, members = append(node.members, members[0]), members[1:]
			}
			members = members[min(1, len(members)):]
		}
		f.nodes = append(f.nodes, node)
	}
	for i, w := range weights {
		f.nodes = append(f.nodes, treeNode{mode: treeLeaf, yes: n + i, no: n + i})
		f.weights[n+i] = []weighted{{targets[i], w}}
	}
	how := []string{"AVERAGE", "SUM", "MIN", "MAX"}
	agg := c.attrInt("aggregate_function", 1)
	post := c.attrInt("post_transform", 0)
	if agg < 0 || agg > 3 || post < 0 || post > 4 {
		c.fail("its aggregate_function is %d and its post_transform %d", agg, post)
	}
	c.attrs = append(slices.DeleteFunc(slices.Clone(c.attrs), func(a *attrProto) bool { return a.name == "post_transform" }),
		&attrProto{name: "post_transform", kind: attrString, s: []byte([]string{"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"}[post])})
	return c.one(c.transformed(f.scores(c, x, how[agg])), c.elem(0))
}

// oldForest reads the trees of TreeEnsembleRegressor and TreeEnsembleClassifier, whose leaves weigh in lists named kind_….
func (c *call) oldForest(kind string) *forest {
	trees, _ := c.attrInts("nodes_treeids")
	n := len(trees)
	list := func(name string) []int {
		v, _ := c.attrInts(name)
		if len(v) != n {
			c.fail("%s has %d numbers where there are %d nodes", name, len(v), n)
		}
		return v
	}
	ids, feature, yes, no := list("nodes_nodeids"), list("nodes_featureids"), list("nodes_truenodeids"), list("nodes_falsenodeids")
	modes, values := c.attrStrings("nodes_modes"), c.attrFloats("nodes_values")
	missing, _ := c.attrInts("nodes_missing_value_tracks_true")
	if len(modes) != n || len(values) != n || missing != nil && len(missing) != n {
		c.fail("%d modes, %d values of %d nodes", len(modes), len(values), n)
	}
	at := map[[2]int]int{}
	f := &forest{weights: map[int][]weighted{}}
	for i := range n {
		if _, ok := at[[2]int{trees[i], ids[i]}]; ok {
			c.fail("node %d of tree %d is there twice", ids[i], trees[i])
		}
		at[[2]int{trees[i], ids[i]}] = i
	}
	place := func(tree, id int) int {
		i, ok := at[[2]int{tree, id}]
		if !ok {
			c.fail("tree %d has no node %d", tree, id)
		}
		return i
	}
	inner := map[int]bool{} // nodes that another leads to
	for i := range n {
		mode, ok := treeModes[modes[i]]
		if !ok {
			c.fail("node %d compares by %.40q", i, modes[i])
		}
		node := treeNode{feature: feature[i], mode: mode, split: values[i], yes: i, no: i, missing: missing != nil && missing[i] != 0}
		if mode != treeLeaf {
			node.yes, node.no = place(trees[i], yes[i]), place(trees[i], no[i])
			inner[node.yes], inner[node.no] = true, true
		}
		f.nodes = append(f.nodes, node)
	}
	for i := range n {
		if !inner[i] {
			f.roots = append(f.roots, i)
		}
	}
	wt, _ := c.attrInts(kind + "_treeids")
	wn, _ := c.attrInts(kind + "_nodeids")
	wi, _ := c.attrInts(kind + "_ids")
	w := c.attrFloats(kind + "_weights")
	if len(wt) != len(w) || len(wn) != len(w) || len(wi) != len(w) {
		c.fail("%d weights of %d trees, %d nodes, %d targets", len(w), len(wt), len(wn), len(wi))
	}
	for i := range w {
		k := place(wt[i], wn[i])
		f.weights[k] = append(f.weights[k], weighted{wi[i], w[i]})
	}
	return f
}

func treeRegressor(c *call) []*Value {
	f := c.oldForest("target")
	f.targets = c.attrInt("n_targets", 1)
	y := f.scores(c, c.matrix(), c.attrString("aggregate_function", "SUM"))
	if base := c.attrFloats("base_values"); len(base) > 0 {
		y = y.Add(c.r.tensor(floatsOf(base)).Reshape(len(base)))
	}
	return c.one(c.transformed(y), Float32)
}

func treeClassifier(c *call) []*Value {
	f := c.oldForest("class")
	words := c.attrStrings("classlabels_strings")
	var labels *Value
	if words != nil {
		labels = Strings([]int{len(words)}, words)
	} else if a := c.typed("classlabels_int64s", attrInts); a != nil {
		labels = intsValue([]int{len(a.ints)}, a.ints...)
	} else {
		c.fail("it has no classes")
	}
	classes := count(labels.shape)
	ids, _ := c.attrInts("class_ids")
	f.targets = 1
	for _, i := range ids {
		f.targets = max(f.targets, i+1)
	}
	one := classes == 2 && !slices.ContainsFunc(ids, func(i int) bool { return i != ids[0] }) // the score of one of two classes
	if !one {
		f.targets = max(f.targets, classes)
	}
	y := f.scores(c, c.matrix(), "SUM")
	if base := c.attrFloats("base_values"); len(base) == f.targets {
		y = y.Add(c.r.tensor(floatsOf(base)).Reshape(len(base)))
	}
	var best t
	if one {
		best, y = c.oneScore(y.Narrow(1, ids[0], 1), ids[0])
	} else {
		best = y.ArgMax(1)
	}
	if !one {
		y = c.transformed(y)
	}
	own := *c
	own.in, own.attrs = []*Value{labels, c.out(best, Int64)}, nil
	return []*Value{moving(gather)(&own)[0], c.out(y, Float32)}
}

// oneScore makes the score [rows, 1] of one of two classes to those of both, and says which of them it is for, as onnxruntime does: the
// specification leaves it open. Weights of which none is negative are those of a probability. If all are of the first class, the score is that
// of the second, and the first has what is left; if all are of the second, the first has 0.
func (c *call) oneScore(s t, class int) (best, both t) {
	row := s.Reshape(s.Dim(0))
	probability := slices.Min(append(c.attrFloats("class_weights"), 0)) >= 0
	if best = row.Gt(0); probability {
		best = row.Gt(0.5)
	}
	best = best.To(dtype.I64)
	if class == 1 {
		return best, c.transformed(tensor.Cat(1, tensor.ZerosLike(s), s))
	}
	rest := s.Neg()
	how := c.attrString("post_transform", "NONE")
	if probability && how != "LOGISTIC" {
		rest = s.RSub(1)
	}
	both = tensor.Cat(1, rest, s)
	if how == "SOFTMAX" || how == "SOFTMAX_ZERO" { // of two numbers that are made of one there is none
		return best, both
	}
	return best, c.transformed(both)
}

func init() {
	register("ai.onnx.ml", map[string]operator{
		"TreeEnsemble": treeEnsemble, "TreeEnsembleRegressor": treeRegressor, "TreeEnsembleClassifier": treeClassifier,
	})
}
