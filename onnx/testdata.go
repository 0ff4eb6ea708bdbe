package onnx

import "fmt"

// ReadTensor reads a TensorProto by itself, as files of test data and of training frameworks hold it.
func ReadTensor(b []byte) (*Value, error) {
	t, err := tensorOf(b)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	v, err := t.value(nil)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	return v, nil
}

// ReadValue reads a TensorProto, SequenceProto or OptionalProto, whichever the type says.
func ReadValue(b []byte, t *Type) (*Value, error) { return readValue(b, t, 0) }

func readValue(b []byte, t *Type, depth int) (*Value, error) {
	if depth > maxTypeNest {
		return nil, fmt.Errorf("onnx: values lie in each other more than %d deep", maxTypeNest)
	}
	if t == nil || t.Kind == IsTensor {
		return ReadTensor(b)
	}
	list := &Value{kind: t.Kind, known: true}
	err := walk(b, func(f field) error {
		if f.number < 3 || f.number > 7 {
			return nil
		}
		b, err := f.bytes()
		if err != nil {
			return err
		}
		inner := map[int]*Type{3: {Kind: IsTensor}, 5: {Kind: IsSequence, Of: t.Of}, 7: {Kind: IsOptional, Of: t.Of}}[f.number]
		if inner == nil {
			return fmt.Errorf("onnx: field %d of a sequence: maps and sparse tensors are no values here", f.number)
		}
		if inner.Kind != IsTensor && t.Of != nil {
			inner.Of = t.Of.Of
		}
		v, err := readValue(b, inner, depth+1)
		list.items = append(list.items, v)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}
