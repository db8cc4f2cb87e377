package resumed

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// backUp returns the arrows between files of one package that go back up, if the files are put in
// the order that has the fewest of them. There is an arrow from a file to another one if it uses a
// name that the other one defines.
func backUp(t *testing.T, files []string) []string {
	uses := fileArrows(t, files)
	order := topDown(uses)
	var back []string
	for i, below := range order {
		for _, above := range order[:i] {
			if uses[below][above] {
				back = append(back, path.Base(below)+" -> "+path.Base(above))
			}
		}
	}
	slices.Sort(back)
	return back
}

func fileArrows(t *testing.T, files []string) map[string]map[string]bool {
	definedIn := make(map[string][]string)
	parsed := make(map[string]*ast.File)
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		require.NoError(t, err)
		parsed[name] = file
		for _, defined := range definitions(file) {
			definedIn[defined] = append(definedIn[defined], name)
		}
	}
	uses := make(map[string]map[string]bool)
	for name, file := range parsed {
		uses[name] = make(map[string]bool)
		for used := range namesUsed(file) {
			// A name that several files define is a method of several types, or a file for another system.
			if in := definedIn[used]; len(in) == 1 && in[0] != name {
				uses[name][in[0]] = true
			}
		}
	}
	return uses
}

// definitions returns the names that a file gives to its package. A method is written ".name";
// exported methods are left out, as types of other packages have some of the same name.
func definitions(file *ast.File) []string {
	var names []string
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Recv == nil {
				names = append(names, decl.Name.Name)
			} else if !decl.Name.IsExported() {
				names = append(names, "."+decl.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name.Name)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}

func namesUsed(file *ast.File) map[string]bool {
	used := make(map[string]bool)
	for _, name := range file.Unresolved { // what the file itself does not define
		used[name.Name] = true
	}
	ast.Inspect(file, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok {
			used["."+selector.Sel.Name] = true
		}
		return true
	})
	return used
}

// topDown puts files that use others above them. Where files use each other in a circle, the one
// that uses most and is used least goes first.
func topDown(uses map[string]map[string]bool) []string {
	left := make([]string, 0, len(uses))
	for name := range uses {
		left = append(left, name)
	}
	slices.Sort(left)
	count := func(name string, arrow func(a, b string) bool) (n int) {
		for _, other := range left {
			if other != name && arrow(name, other) {
				n++
			}
		}
		return n
	}
	out := func(a, b string) bool { return uses[a][b] }
	in := func(a, b string) bool { return uses[b][a] }
	var top, bottom []string
	for len(left) > 0 {
		best, isBottom, score := 0, false, -1<<30
		for i, name := range left {
			outs, ins := count(name, out), count(name, in)
			if outs == 0 {
				best, isBottom = i, true
				break
			}
			if gain := outs - ins; ins == 0 || gain > score {
				best, score = i, gain
				if ins == 0 {
					score = 1 << 29
				}
			}
		}
		if isBottom {
			bottom = append(bottom, left[best])
		} else {
			top = append(top, left[best])
		}
		left = slices.Delete(left, best, best+1)
	}
	slices.Reverse(bottom)
	return append(top, bottom...)
}
