package codegen

import "errors"

// checked is not part of the engine in a page, whose size counts.
func (b *builder) checked(_ string, check func(*Form) error) error {
	if check != nil {
		return errors.New("codegen: Target.Check is not part of the engine in a page; check a native build")
	}
	return nil
}
