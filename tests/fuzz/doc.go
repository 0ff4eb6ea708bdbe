// Package fuzz makes random programs of tensor operations, runs them on devices, and compares every element with what the
// reference evaluator's meaning of the graph allows.
//
// A seed is a program: up to some thirty ops over a few leaves, gradients, assignments, places where values are realized
// on the way, perhaps captured and replayed (Generate). What each element may be is an interval, computed op by op on the
// graph as it was written (bounds.go says why): exact things are compared exactly, and nothing right is ever called wrong.
// Programs run in a process of their own (Worker), many compiled together; one that fails runs again alone, and is made
// small (Shrinker) and printed as Go.
//
// The package knows graphs and package tensor's methods by name. It refuses to know devices, and what may be wrong in them.
//
//	make fuzz TIME=2h SEED=1 DEVICES=CPU,WASM
package fuzz
