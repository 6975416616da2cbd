package house_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/divvyhq/divvy/internal/pgtest"
)

func TestMain(m *testing.M) {
	code := pgtest.Run(m)
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

const (
	module = "github.com/divvyhq/divvy"
	root   = "../.."
)

// goPackage is what go list knows of a package.
type goPackage struct {
	ImportPath, Dir                    string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports, TestImports, XTestImports []string
}

// path is the package's path inside the module; "" for the root.
func (p goPackage) path() string { return inside(p.ImportPath) }

func inside(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
}

// packages lists the module's packages.
func packages(t *testing.T) []goPackage {
	t.Helper()
	all, err := listed()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 5 {
		t.Fatalf("go list found %d packages", len(all))
	}
	return all
}

// listed asks once: go list takes a second and more of each core.
var listed = sync.OnceValues(func() (all []goPackage, err error) {
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,GoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports", "./...")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

// walk calls fn with every file of the repository whose name ends in suffix, by its path from the root.
func walk(t *testing.T, suffix string, fn func(path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return fs.SkipDir
		case !d.IsDir() && strings.HasSuffix(path, suffix):
			rel, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			fn(filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestGofmt(t *testing.T) {
	walk(t, ".go", func(path string) {
		text := read(t, path)
		if got, err := format.Source([]byte(text)); err != nil {
			t.Errorf("%s: %v", path, err)
		} else if string(got) != text {
			t.Errorf("%s is not gofmt's (gofmt -w %s)", path, path)
		}
	})
}

func TestEveryPackageHasItsContract(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.GoFiles) == 0 {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, filepath.Join(p.Dir, "doc.go"), nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Errorf("%s has no doc.go: %v", p.path(), err)
		} else if len(file.Doc.Text()) < 40 {
			t.Errorf("%s: doc.go does not say what the package promises", p.path())
		} else if n := set.File(file.FileStart).LineCount(); n > 60 && strings.HasPrefix(p.path(), "dispatcher") {
			t.Errorf("%s: doc.go has %d lines, at most 60: cut it by meaning", p.path(), n)
		}
	}
}

// literals lists the string constants in the Go files of a package, tests not counted.
func literals(t *testing.T, dir string) map[string]token.Position {
	t.Helper()
	found := map[string]token.Position{}
	entries, err := os.ReadDir(filepath.Join(root, dir))
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, filepath.Join(root, dir, e.Name()), nil, 0)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				found[unquote(l.Value)] = files.Position(l.Pos())
			}
			return true
		})
	}
	return found
}

func unquote(s string) string { return strings.Trim(s, "\"`") }
