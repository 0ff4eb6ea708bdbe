package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
)

// function is a function of package tensor, or a method of its Tensor.
type function struct {
	name    string
	method  bool
	params  []string // their types
	results []string
	doc     string
}

// goSource is what package tensor exports.
type goSource struct {
	functions map[string]*function         // by name: methods with "t." before it
	folded    map[string]*function         // by name in lower case
	fields    map[string]map[string]string // the comments of fields of structs
}

func readGo(dir string) (*goSource, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	s := &goSource{functions: map[string]*function{}, folded: map[string]*function{}, fields: map[string]map[string]string{}}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				s.function(d)
			case *ast.GenDecl:
				s.structs(d)
			}
		}
	}
	return s, nil
}

func (s *goSource) function(d *ast.FuncDecl) {
	f := &function{name: d.Name.Name, doc: strings.Join(strings.Fields(d.Doc.Text()), " ")}
	key := f.name
	if d.Recv != nil {
		if typeText(d.Recv.List[0].Type) != "one" {
			return
		}
		f.method, key = true, "t."+f.name
	}
	if !d.Name.IsExported() {
		return
	}
	f.params = fieldTypes(d.Type.Params)
	f.results = fieldTypes(d.Type.Results)
	s.functions[key] = f
	s.folded[strings.ToLower(key)] = f
}

func (s *goSource) structs(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		t, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		st, ok := t.Type.(*ast.StructType)
		if !ok || !t.Name.IsExported() {
			continue
		}
		fields := map[string]string{}
		for _, f := range st.Fields.List {
			for _, n := range f.Names {
				if n.IsExported() {
					fields[n.Name] = strings.TrimSpace(f.Comment.Text())
				}
			}
		}
		s.fields[t.Name.Name] = fields
	}
}

func fieldTypes(list *ast.FieldList) (out []string) {
	if list == nil {
		return nil
	}
	for _, f := range list.List {
		for range max(1, len(f.Names)) {
			out = append(out, typeText(f.Type))
		}
	}
	return out
}

// typeText is a type as package main of the engine writes it.
func typeText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		if e.Name == "Tensor" {
			return "Tensor"
		}
		if ast.IsExported(e.Name) {
			return "tensor." + e.Name
		}
		return e.Name
	case *ast.StarExpr:
		if t := typeText(e.X); t != "Tensor" {
			return "*" + t
		}
		return "one"
	case *ast.ArrayType:
		if t := typeText(e.Elt); t != "one" {
			return "[]" + t
		}
		return "some"
	case *ast.Ellipsis:
		return "..." + typeText(e.Elt)
	case *ast.MapType:
		return "map[" + typeText(e.Key) + "]" + typeText(e.Value)
	case *ast.SelectorExpr:
		return typeText(e.X) + "." + e.Sel.Name
	}
	return "?"
}

// find gives the method, or of class Weft the function, of a name in any case of its letters.
func (s *goSource) find(class, name string) *function {
	prefix := ""
	if class == "Tensor" {
		prefix = "t."
	}
	if f := s.functions[prefix+name]; f != nil {
		return f
	}
	return s.folded[strings.ToLower(prefix+name)]
}
