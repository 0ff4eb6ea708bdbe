package onnx

import (
	"fmt"
	"slices"
	"strings"
)

// Missing is an operator that is not known, and where a model uses it.
type Missing struct {
	Op, Domain string
	Nodes      []string // their names; at most some
	Count      int
}

// UnsupportedError lists all operators of a model that are not known.
type UnsupportedError struct {
	File string
	Ops  []Missing
}

func (e *UnsupportedError) Error() string {
	var list []string
	for _, m := range e.Ops {
		domain := m.Domain
		if domain == "" {
			domain = "ai.onnx"
		}
		list = append(list, fmt.Sprintf("%s (domain %s, %d nodes: %s)", m.Op, domain, m.Count, strings.Join(m.Nodes, ", ")))
	}
	return fmt.Sprintf("onnx: %s: operators that are not known: %s", e.File, strings.Join(list, "; "))
}

// checker walks all graphs of a model before anything runs and puts their nodes in order: each name is given once, and before it is read; no function calls itself;
// all operators are known.
type checker struct {
	m       *Model
	missing map[[2]string]*Missing
	order   [][2]string
	calling []functionKey
	checked map[functionKey]bool
}

// names are those that a graph gives; outer ones may be read too.
type names struct {
	set   map[string]bool
	outer *names
}

func (n *names) has(s string) bool {
	for ; n != nil; n = n.outer {
		if n.set[s] {
			return true
		}
	}
	return false
}

func (n *names) add(what, s string) error {
	if s == "" {
		return nil
	}
	if n.set[s] {
		return fmt.Errorf("%s: the name %.80q is given twice", what, s)
	}
	n.set[s] = true
	return nil
}

func (m *Model) check() error {
	c := &checker{m: m, missing: map[[2]string]*Missing{}, checked: map[functionKey]bool{}}
	if err := c.graph(m.proto.graph, nil); err != nil {
		return err
	}
	if len(c.order) == 0 {
		return nil
	}
	e := &UnsupportedError{File: m.name}
	for _, k := range c.order {
		e.Ops = append(e.Ops, *c.missing[k])
	}
	return e
}

func (c *checker) graph(g *graphProto, outer *names) error {
	at := fmt.Sprintf("graph %.60q", g.name)
	n := &names{map[string]bool{}, outer}
	for _, in := range g.inputs {
		if in.name == "" {
			return fmt.Errorf("%s: an input has no name", at)
		}
		if err := n.add(at, in.name); err != nil {
			return err
		}
	}
	inits := map[string]bool{}
	for _, name := range initNames(g) {
		if inits[name] {
			return fmt.Errorf("%s: initializer %.80q is there twice", at, name)
		}
		inits[name] = true
		n.set[name] = true
	}
	for _, t := range g.init {
		if err := c.tensor(t); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	for _, s := range g.sparse {
		if err := c.sparse(s); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	g.nodes = inOrder(g.nodes)
	if err := c.nodes(at, g.nodes, n); err != nil {
		return err
	}
	for _, out := range g.outputs {
		if !n.has(out.name) {
			return fmt.Errorf("%s: nothing gives its output %.80q", at, out.name)
		}
	}
	return nil
}

// tensor reads what a tensor holds.
func (c *checker) tensor(t *tensorProto) (err error) {
	t.is, err = t.value(c.m.opts.External)
	return err
}

func (c *checker) sparse(s *sparseProto) (err error) {
	s.is, err = s.dense(c.m.opts.External)
	return err
}

func (c *checker) attribute(a *attrProto) error {
	for _, t := range append(slices.Clone(a.tensors), a.t) {
		if t != nil {
			if err := c.tensor(t); err != nil {
				return err
			}
		}
	}
	if a.sparse != nil {
		return c.sparse(a.sparse)
	}
	return nil
}

func initNames(g *graphProto) (list []string) {
	for _, t := range g.init {
		list = append(list, t.name)
	}
	for _, s := range g.sparse {
		list = append(list, s.values.name)
	}
	return list
}

func (c *checker) nodes(at string, list []*nodeProto, n *names) error {
	for i, node := range list {
		where := fmt.Sprintf("%s: node %d, %s", at, i, node.title())
		for _, in := range node.in {
			if in != "" && !n.has(in) {
				return fmt.Errorf("%s: it reads %.80q, which nothing before it gives: the name is wrong, or nodes read each other in a circle", where, in)
			}
		}
		if err := c.node(node, n); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		for _, out := range node.out {
			if err := n.add(where, out); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *checker) node(node *nodeProto, n *names) error {
	seen := map[string]bool{}
	for _, a := range node.attrs {
		if seen[a.name] {
			return fmt.Errorf("attribute %.60q is there twice", a.name)
		}
		seen[a.name] = true
		if err := c.attribute(a); err != nil {
			return fmt.Errorf("attribute %.60q: %w", a.name, err)
		}
		for _, g := range append(slices.Clone(a.graphs), a.g) {
			if g == nil {
				continue
			}
			if err := c.graph(g, n); err != nil {
				return err
			}
		}
	}
	key := functionKey{node.domain, node.op, node.overload}
	if f := c.m.functions[key]; f != nil {
		return c.function(key, f)
	}
	if _, ok := operators[opName(node.domain, node.op)]; ok {
		return nil
	}
	k := [2]string{node.domain, node.op}
	if c.missing[k] == nil {
		c.missing[k] = &Missing{Op: node.op, Domain: node.domain}
		c.order = append(c.order, k)
	}
	miss := c.missing[k]
	if miss.Count++; len(miss.Nodes) < 5 {
		miss.Nodes = append(miss.Nodes, fmt.Sprintf("%.80q", node.label()))
	}
	return nil
}

func (c *checker) function(key functionKey, f *functionProto) error {
	if slices.Contains(c.calling, key) {
		return fmt.Errorf("function %.80q calls itself", f.name)
	}
	if c.checked[key] {
		return nil
	}
	if len(c.calling) > maxDepth {
		return fmt.Errorf("functions call each other more than %d deep", maxDepth)
	}
	if _, err := opsetsOf(f.opsets); err != nil {
		return fmt.Errorf("function %.80q: %w", f.name, err)
	}
	for _, a := range f.defaults {
		if err := c.attribute(a); err != nil {
			return fmt.Errorf("function %.80q: attribute %.60q: %w", f.name, a.name, err)
		}
	}
	c.calling = append(c.calling, key)
	n := &names{set: map[string]bool{}}
	at := fmt.Sprintf("function %.60q", f.name)
	for _, in := range f.in {
		if err := n.add(at, in); err != nil {
			return err
		}
	}
	f.nodes = inOrder(f.nodes)
	if err := c.nodes(at, f.nodes, n); err != nil {
		return err
	}
	for _, out := range f.out {
		if !n.has(out) {
			return fmt.Errorf("%s: nothing gives its output %.80q", at, out)
		}
	}
	c.calling = c.calling[:len(c.calling)-1]
	c.checked[key] = true
	return nil
}

// title is a node in messages.
func (n *nodeProto) title() string {
	op := n.op
	if n.domain != "" {
		op = n.domain + ":" + op
	}
	if n.name == "" {
		return op
	}
	return fmt.Sprintf("%.80s %.80q", op, n.name)
}

// label is the name of a node, that of its first output if it has none.
func (n *nodeProto) label() string {
	if n.name == "" && len(n.out) > 0 {
		return n.out[0]
	}
	return n.name
}

func opName(domain, op string) string {
	if domain == "" {
		return op
	}
	return domain + ":" + op
}
