package codegen

func (c *chooser) tiles() []Move { return nil }
