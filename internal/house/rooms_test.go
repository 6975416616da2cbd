package house_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// limits of what one person can hold in mind, of hand-written Go without its tests.
var limits = map[string]int{
	"lines":   4000, // of a package, without its lists of imports
	"files":   40,   // of a package
	"methods": 30,   // of a type
	"fields":  20,   // of a struct
	"locked":  8,    // files in which one mutex is taken
	"python":  800,  // all lines of the Python client
}

func TestRoomsAreSmall(t *testing.T) {
	found := map[string]int{}
	for _, p := range typed(t, root) {
		maps.Copy(found, p.figures())
	}
	const client = "python api/python/divvy"
	walk(t, ".py", func(path string) {
		if strings.HasPrefix(path, "api/python/divvy/") {
			found[client] += strings.Count(read(t, path), "\n")
		}
	})
	if found[client] == 0 {
		t.Errorf("%s has no lines", client)
	}
	for _, wrong := range judge(found) {
		t.Error(wrong)
	}
}

// judge says which figures are above their limits.
func judge(found map[string]int) (wrong []string) {
	for _, name := range slices.Sorted(maps.Keys(found)) {
		kind, _, _ := strings.Cut(name, " ")
		if figure, most := found[name], limits[kind]; figure > most {
			wrong = append(wrong, fmt.Sprintf("%s: %d, at most %d: cut it by meaning", name, figure, most))
		}
	}
	return wrong
}

// typedPackage is a package with what its identifiers mean.
type typedPackage struct {
	path  string // inside the module
	lines map[string]int
	files map[string]*ast.File // by name
	set   *token.FileSet
	info  *types.Info
	types *types.Package
}

// typed type-checks every package of the module in dir by the export data of what it imports.
func typed(t *testing.T, dir string) (all []typedPackage) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Dir,GoFiles,Export,Module", "./...")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	set := token.NewFileSet()
	imports := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Dir, Export string
			GoFiles                 []string
			Module                  *struct{ Main bool }
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export // dependencies come first
		if p.Module != nil && p.Module.Main {
			all = append(all, check(t, set, imports, p.ImportPath, p.Dir, p.GoFiles))
		}
	}
	return all
}

func check(t *testing.T, set *token.FileSet, imports types.Importer, path, dir string, names []string) typedPackage {
	t.Helper()
	p := typedPackage{path: inside(path), set: set, lines: map[string]int{}, files: map[string]*ast.File{}, info: &types.Info{
		Defs: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}, Uses: map[*ast.Ident]types.Object{}}}
	var files []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(set, filepath.Join(dir, name), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
		if !ast.IsGenerated(file) {
			p.files[name], p.lines[name] = file, set.File(file.FileStart).LineCount()-1-importLines(set, file)
		}
	}
	var err error
	if p.types, err = (&types.Config{Importer: imports}).Check(path, set, files, p.info); err != nil {
		t.Fatal(err)
	}
	return p
}

// importLines do not count: a word that moves into a room of its own is no reason for its users to be over a limit.
func importLines(set *token.FileSet, file *ast.File) (n int) {
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			n += set.Position(g.End()).Line - set.Position(g.Pos()).Line + 1
		}
	}
	return n
}

// figures are what limits bound, by "kind package[.name]".
func (p typedPackage) figures() map[string]int {
	f := map[string]int{"files " + p.path: len(p.files), "lines " + p.path: 0}
	for _, n := range p.lines {
		f["lines "+p.path] += n
	}
	for _, name := range p.types.Scope().Names() {
		obj, ok := p.types.Scope().Lookup(name).(*types.TypeName)
		if !ok || obj.IsAlias() || p.files[filepath.Base(p.set.Position(obj.Pos()).Filename)] == nil {
			continue
		}
		if named, ok := obj.Type().(*types.Named); ok {
			f["methods "+p.path+"."+name] = named.NumMethods()
		}
		if s, ok := obj.Type().Underlying().(*types.Struct); ok {
			f["fields "+p.path+"."+name] = s.NumFields()
		}
	}
	maps.Copy(f, p.locks())
	return f
}

// locks counts, for each mutex that is a field or a variable, the files in which it is taken.
func (p typedPackage) locks() map[string]int {
	files := map[string]map[string]bool{}
	for name, file := range p.files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"Lock", "RLock", "TryLock", "TryRLock"}, call.Sel.Name) {
				return true
			}
			if method, ok := p.info.Uses[call.Sel].(*types.Func); !ok || method.Pkg() == nil || method.Pkg().Path() != "sync" {
				return true
			}
			lock := p.lockOf(call.X)
			if files[lock] == nil {
				files[lock] = map[string]bool{}
			}
			files[lock][name] = true
			return true
		})
	}
	found := map[string]int{}
	for lock, in := range files {
		found["locked "+p.path+"."+lock] = len(in)
	}
	return found
}

// lockOf names the mutex of an expression: Type.field, or the variable.
func (p typedPackage) lockOf(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.SelectorExpr:
		if s := p.info.Selections[x]; s != nil {
			owner := s.Recv()
			if ptr, ok := owner.(*types.Pointer); ok {
				owner = ptr.Elem()
			}
			return types.TypeString(owner, func(*types.Package) string { return "" }) + "." + x.Sel.Name
		}
		return x.Sel.Name
	case *ast.Ident:
		return x.Name
	}
	return types.ExprString(x)
}

// Each figure that is too large is found.
func TestLargeRoomsAreFound(t *testing.T) {
	dir := t.TempDir()
	var code strings.Builder
	code.WriteString("package room\n\nimport \"sync\"\n\ntype wide struct {\n\tmu sync.Mutex\n")
	for i := range 20 {
		fmt.Fprintf(&code, "\tf%d int\n", i)
	}
	code.WriteString("}\n\ntype outer struct{ inner *wide }\n\n")
	for i := range 31 {
		fmt.Fprintf(&code, "func (w *wide) m%d() int { return w.f0 }\n\n", i)
	}
	files := map[string]string{"go.mod": "module " + module + "\n\ngo 1.26\n", "room/wide.go": code.String()}
	for i := range 41 {
		use := fmt.Sprintf("package room\n\nfunc u%d(o *outer) {\n\to.inner.mu.Lock()\n\to.inner.mu.Unlock()\n}\n", i)
		files[fmt.Sprintf("room/u%d.go", i)] = use + strings.Repeat("\n", 100)
	}
	for name, text := range files {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	found := typed(t, dir)[0].figures()
	want := map[string]int{"fields room.wide": 21, "methods room.wide": 31, "files room": 42, "locked room.wide.mu": 41}
	for name, figure := range want {
		if found[name] != figure {
			t.Errorf("%s is %d, want %d", name, found[name], figure)
		}
	}
	if wrong := judge(found); len(wrong) != 5 {
		t.Errorf("found %q, want five", wrong)
	}
}
