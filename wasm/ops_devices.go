//go:build !lean || models

package main

import (
	"github.com/weft-ml/weft/engine"
	"github.com/weft-ml/weft/tensor"
)

// Arrays on several devices. weft.wasm, which pages open unless they ask for more, has not what computes on them: ops_devices_lean.go.

// places takes names of devices, and the axis that is cut over them or none.
func (c *call) places() (names []string, axis int) {
	sub := &call{name: c.name, args: c.list()}
	for range sub.args {
		names = append(names, sub.text())
	}
	if axis = tensor.Replicated; c.next() != nil {
		c.taken--
		axis = c.integer()
	}
	return names, axis
}

func opShard(c *call) one     { x := c.tensor(); return x.Shard(c.places()) }
func opShardTo(c *call) one   { x := c.tensor(); return x.ShardTo(c.places()) }
func opShardLike(c *call) one { x := c.tensor(); return x.ShardLike(c.tensor()) }

// crossing has captured functions go from device to device.
func crossing() { engine.AllowCrossing() }

// cut is the axis along which a tensor is cut over its devices, or nil.
func cut(x one) (any, error) {
	axis, err := x.CutAxis()
	if err != nil || axis == tensor.Replicated {
		return nil, err
	}
	return axis, nil
}
