package nn

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/weft-ml/weft/tensor"
)

// Named is a tensor of a model and the path to it: "conv1.weight", "blocks.0.bias".
type Named struct {
	Name      string
	Tensor    *tensor.Tensor
	Parameter bool // trained by optimisers; otherwise state such as running statistics
}

// State lists the tensors of a model in the order of its fields. It walks exported fields of structs,
// pointers, interfaces, slices, arrays and maps with string keys (sorted). A path is made of field names
// in snake case, indices and keys. Fields tagged `weft:"-"` are left out, those tagged `weft:"state"` are
// not parameters; fields of embedded structs count as the outer struct's own. A tensor that occurs twice
// (tied weights) is listed where it occurs first. A tensor in an unexported field without a tag would
// silently not be trained or saved, so it panics.
func State(model any) []Named {
	w := walker{seen: map[*tensor.Tensor]bool{}, inside: map[uintptr]bool{}}
	w.walk(reflect.ValueOf(model), "", true)
	return w.found
}

// Parameters lists the tensors of a model that optimisers train: those of float type that are not tagged as
// state.
func Parameters(model any) []*tensor.Tensor {
	var ts []*tensor.Tensor
	for _, s := range State(model) {
		if s.Parameter {
			ts = append(ts, s.Tensor)
		}
	}
	return ts
}

var tensorType = reflect.TypeFor[*tensor.Tensor]()

type walker struct {
	found  []Named
	seen   map[*tensor.Tensor]bool
	inside map[uintptr]bool // pointers on the way down: a cycle ends the walk
}

func (w *walker) walk(v reflect.Value, path string, parameter bool) {
	if !v.IsValid() {
		return
	}
	if v.Type() == tensorType {
		if t := v.Interface().(*tensor.Tensor); t != nil && !w.seen[t] {
			w.seen[t] = true
			w.found = append(w.found, Named{path, t, parameter && t.IsFloat()})
		}
		return
	}
	switch v.Kind() {
	case reflect.Interface:
		w.walk(v.Elem(), path, parameter)
	case reflect.Pointer:
		if p := v.Pointer(); p != 0 && !w.inside[p] {
			w.inside[p] = true
			w.walk(v.Elem(), path, parameter)
			delete(w.inside, p)
		}
	case reflect.Slice, reflect.Array:
		if !mayHold(v.Type().Elem()) {
			return
		}
		for i := range v.Len() {
			w.walk(v.Index(i), join(path, strconv.Itoa(i)), parameter)
		}
	case reflect.Map:
		if v.Type().Key().Kind() != reflect.String || !mayHold(v.Type().Elem()) {
			return
		}
		keys := v.MapKeys()
		slices.SortStableFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
		for _, k := range keys {
			w.walk(v.MapIndex(k), join(path, k.String()), parameter)
		}
	case reflect.Struct:
		w.fields(v, path, parameter)
	}
}

func (w *walker) fields(v reflect.Value, path string, parameter bool) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		tag := f.Tag.Get("weft")
		switch {
		case tag == "-":
		case tag != "" && tag != "state":
			panic(&tensor.ArgumentError{Op: "State", Reason: fmt.Sprintf("field %s of %v is tagged weft:%q; the tags are \"-\" and \"state\"", f.Name, v.Type(), tag)})
		case f.Anonymous:
			w.walk(v.Field(i), path, parameter && tag == "")
		case !f.IsExported():
			if holdsTensor(v.Field(i)) {
				panic(&tensor.ArgumentError{Op: "State", Reason: fmt.Sprintf(
					"field %s of %v holds a tensor but is not exported, so it would be neither trained nor saved; export it, or tag it `weft:\"-\"`", f.Name, v.Type())})
			}
		default:
			w.walk(v.Field(i), join(path, snake(f.Name)), parameter && tag == "")
		}
	}
}

// mayHold spares walking through long slices of numbers.
func mayHold(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Struct, reflect.Slice, reflect.Array, reflect.Map:
		return true
	}
	return false
}

// holdsTensor looks into an unexported field: at tensors, lists of tensors and layers of this package.
func holdsTensor(v reflect.Value) bool {
	if v.Type() == tensorType {
		return !v.IsNil()
	}
	switch v.Kind() {
	case reflect.Pointer:
		ours := v.Type().Elem().PkgPath() == reflect.TypeFor[Linear]().PkgPath()
		return !v.IsNil() && ours && holdsTensor(v.Elem())
	case reflect.Slice, reflect.Array:
		return v.Type().Elem() == tensorType && v.Len() > 0
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).Type() == tensorType && !v.Field(i).IsNil() {
				return true
			}
		}
	}
	return false
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// snake is RunningMean → running_mean, Conv1 → conv1, QKV → qkv, OutProj → out_proj.
func snake(name string) string {
	var b strings.Builder
	r := []rune(name)
	for i, c := range r {
		if unicode.IsUpper(c) && i > 0 && (!unicode.IsUpper(r[i-1]) && r[i-1] != '_' || i+1 < len(r) && unicode.IsLower(r[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}
