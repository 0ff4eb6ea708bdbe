package main

import "github.com/weft-ml/weft/tensor"

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

func opShard(c *call) one   { x := c.tensor(); return x.Shard(c.places()) }
func opShardTo(c *call) one { x := c.tensor(); return x.ShardTo(c.places()) }
