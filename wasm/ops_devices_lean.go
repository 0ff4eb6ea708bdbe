//go:build lean && !models

package main

import "github.com/weft-ml/weft/engine"

func opShard(c *call) one {
	x, list := c.tensor(), c.list()
	if len(list) != 1 {
		c.fail("several devices take the whole engine; open it by open({ whole: true })")
	}
	sub := &call{name: c.name, args: list}
	return x.On(sub.text())
}

func opShardTo(c *call) one {
	x := c.tensor()
	c.taken--
	return x.Replace(opShard(c))
}

// opShardLike knows that what lies on one device is not cut.
func opShardLike(c *call) one {
	x, y := c.tensor(), c.tensor()
	if y.Engine() == nil {
		c.fail("the other tensor is a constant, which lies on no device")
	}
	return x.On(y.Device())
}

func crossing() {
	engine.RefuseCrossing("the function goes from device to device, which takes the whole engine; open it by open({ whole: true })")
}

func cut(one) (any, error) { return nil, nil }
