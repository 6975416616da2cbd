package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// floors: a package may import packages of lower floors only. A folder counts for all below it that are not
// named themselves.
var floors = map[string]int{
	"cmd":                 5,
	"api":                 4,
	"api/wire":            0,
	"api/client":          1,
	"internal/pilot":      4,
	"generator":           3,
	"dispatcher":          2,
	"dispatcher/resource": 2,
	"internal/site":       2,
	"internal/harvester":  2,
	"internal/sandbox":    2,
	"shares":              1, // and shares/sim, shares/replay
	"internal/pg":         0,
	"internal/doctor":     3,
	"internal/report":     1,
	"internal/transfer":   1,
	"internal/access":     1,
	"internal/login":      1,
	"internal/hooks":      3,
	"internal/keys":       0,
	"internal/relay":      0,
	"internal/live":       0,
	"internal/door":       0,
	"internal/logs":       0,
	"internal/loops":      1,
	"internal/build":      0,
	"internal/slurm":      0,
	"internal/otlp":       0,
	"migrations":          0,

	"internal/pilot/container": 0, // what a site file says of it, the site checks
}

// testOnly packages are imported by _test.go files only.
var testOnly = []string{"internal/pgtest", "internal/chaos", "internal/house", "internal/e2e", "internal/browser", "internal/ownca", "internal/ledgertest", "internal/golden", "internal/mutate", "dispatcher/dispatchertest", "dispatcher/sim", "cmd/divvy/servetest"}

// sameFloor lists the folders within a floor whose import is meant, beside the imports between a package and its own
// sub-packages.
var sameFloor = map[string]string{
	"internal/pilot": "api/client",          // the typed client is how a pilot talks
	"dispatcher":     "dispatcher/resource", // policy of scarce units and claims
	"migrations":     "internal/pg",         // lock classes
}

// only bounds imports from outside the module to the folders that they are for.
var only = map[string][]string{
	"github.com/spf13/cobra":            {"cmd"},
	"github.com/go-chi/chi":             {"api", "cmd/divvy-bench"},
	"github.com/danielgtaylor/huma":     {"api"},
	"github.com/coreos/go-oidc":         {"internal/keys", "internal/ownca"},
	"golang.org/x/oauth2":               {"internal/keys", "internal/login"},
	"github.com/pressly/goose":          {"migrations"},
	"github.com/testcontainers":         {"internal/pgtest"},
	"go.yaml.in/yaml/v3":                {"internal/site", "cmd"},
	"database/sql":                      {"migrations"},
	"github.com/jackc/pgx":              {"internal/pg", "internal/pgtest", "migrations", "dispatcher", "generator", "internal/site", "internal/harvester", "internal/sandbox", "internal/report", "internal/transfer", "internal/doctor", "internal/access", "internal/hooks", "cmd"},
	"github.com/anishathalye/porcupine": {}, // tests
	"github.com/chromedp":               {"internal/browser"},
	"github.com/minio/minio-go":         {"internal/pilot/archive"},
	"pgregory.net/rapid":                {}, // tests
	"testing":                           {"internal/pgtest", "internal/ownca", "internal/ledgertest", "dispatcher/dispatchertest", "dispatcher/sim"},
}

// below says whether path is folder or inside of it.
func below(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

// floorOf is the floor of the longest folder named in floors.
func floorOf(path string) (folder string, floor int, ok bool) {
	for f, n := range floors {
		if below(path, f) && len(f) > len(folder) {
			folder, floor, ok = f, n, true
		}
	}
	return folder, floor, ok
}

func TestFloors(t *testing.T) {
	for _, p := range packages(t) {
		path := p.path()
		if slices.Contains(testOnly, path) {
			continue
		}
		folder, floor, ok := floorOf(path)
		if !ok {
			t.Errorf("%s stands on no floor: give it one in floors", path)
			continue
		}
		for _, i := range p.Imports {
			if !strings.HasPrefix(i, module) {
				checkOutside(t, path, i)
				continue
			}
			to := inside(i)
			if slices.Contains(testOnly, to) {
				t.Errorf("%s imports %s outside of _test.go files", path, to)
				continue
			}
			toFolder, toFloor, _ := floorOf(to)
			switch {
			case toFloor < floor, toFolder == folder, below(to, sameFloor[folder]):
			default:
				t.Errorf("%s (floor %d) imports %s (floor %d): imports point down only", path, floor, to, toFloor)
			}
		}
	}
}

func checkOutside(t *testing.T, path, imported string) {
	t.Helper()
	for prefix, folders := range only {
		if below(imported, prefix) && !slices.ContainsFunc(folders, func(f string) bool { return below(path, f) }) {
			t.Errorf("%s imports %s, which is for %v only", path, imported, folders)
		}
	}
}

// The pilot is a program that could live elsewhere: it knows the server by its client alone.
func TestPilotKnowsTheClientOnly(t *testing.T) {
	for _, p := range packages(t) {
		if !below(p.path(), "internal/pilot") {
			continue
		}
		for _, i := range p.Imports {
			if to := inside(i); strings.HasPrefix(i, module) && to != "api/client" && to != "api/wire" && !below(to, "internal/pilot") {
				t.Errorf("%s imports %s", p.path(), to)
			}
		}
	}
}

// The product carries no laboratory, and no test of it stands on one.
func TestOnlyTheBenchImportsTheBench(t *testing.T) {
	for _, p := range packages(t) {
		for _, i := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if to := inside(i); below(to, "cmd/divvy-bench") && !below(p.path(), "cmd/divvy-bench") {
				t.Errorf("%s imports %s", p.path(), to)
			}
		}
	}
}

// A stranger's program can import the client: it and the shapes need nothing of the server, and the standard library only.
func TestClientIsFreeOfTheServer(t *testing.T) {
	may := map[string][]string{"api/client": {"api/wire"}, "api/wire": nil}
	for _, p := range packages(t) {
		known, bound := may[p.path()]
		for _, i := range p.Imports {
			if bound && strings.Contains(strings.Split(i, "/")[0], ".") && !slices.Contains(known, inside(i)) {
				t.Errorf("%s imports %s", p.path(), i)
			}
		}
	}
}

// rooms of the dispatcher: each may import those that stand after it, and no other of them.
var rooms = []string{"dispatchertest", "", "holdings", "runs", "link", "meter", "series", "sim", "lease", "upkeep", "rules", "replay", "lookup", "explain", "start", "fold", "retry", "tally", "wanted", "machine", "running", "books", "gate", "ready", "intake", "ledger", "entry", "job", "resource", "slab"}

// upward says whether a package imports a room of the dispatcher that is its own floor or above.
func upward(from, to string) bool {
	if !below(from, "dispatcher") || !below(to, "dispatcher") {
		return false
	}
	room := func(path string) int {
		return slices.Index(rooms, strings.TrimPrefix(strings.TrimPrefix(path, "dispatcher"), "/"))
	}
	return room(from) < 0 || room(to) <= room(from)
}

func TestRoomsPointDown(t *testing.T) {
	for _, p := range packages(t) {
		if slices.Contains(testOnly, p.path()) {
			continue
		}
		for _, i := range append(slices.Clone(p.Imports), p.TestImports...) {
			if to := inside(i); strings.HasPrefix(i, module) && upward(p.path(), to) {
				t.Errorf("%s imports %s: a room of the dispatcher knows those after it in the list of rooms", p.path(), to)
			}
		}
	}
	for arrow, want := range map[[2]string]bool{{"dispatcher", "dispatcher/lease"}: false, {"dispatcher/lease", "dispatcher"}: true,
		{"dispatcher/machine", "dispatcher/ledger"}: false, {"dispatcher/gate", "dispatcher/machine"}: true, {"dispatcher/hall", "dispatcher/job"}: true} {
		if upward(arrow[0], arrow[1]) != want {
			t.Errorf("%s to %s: upward is not %v", arrow[0], arrow[1], want)
		}
	}
}

// pure are the packages that are values in, values out: no database, network, process, lock, goroutine, log or clock.
var pure = []string{"shares", "internal/pilot/container", "dispatcher/resource", "dispatcher/job", "dispatcher/entry", "dispatcher/explain", "dispatcher/gate", "dispatcher/machine", "dispatcher/running", "dispatcher/books", "dispatcher/ready", "dispatcher/retry", "dispatcher/slab", "dispatcher/tally", "dispatcher/wanted"}

// impure are packages whose core is pure and whose shell is not, with the reason: no pure package may reach them, by whatever way.
var impure = map[string]string{
	"dispatcher/lease": "Node is pure, by its files; Loop, the clock and the sights of the shell have goroutines, a lock and the clock, and it knows ledger.Log",
}

// isPure says whether a package is to be values in, values out.
func isPure(path string) bool {
	return slices.ContainsFunc(pure, func(folder string) bool { return below(path, folder) })
}

// leaks are the ways from pure packages to others of the module, however long: by path, those that each imports.
func leaks(imports map[string][]string) (found []string) {
	for _, from := range slices.Sorted(maps.Keys(imports)) {
		if !isPure(from) {
			continue
		}
		seen := map[string]bool{from: true}
		for ways := [][]string{{from}}; len(ways) > 0; ways = ways[1:] {
			way := ways[0]
			for _, to := range imports[way[len(way)-1]] {
				next := append(slices.Clone(way), to)
				switch {
				case seen[to]:
				case isPure(to):
					ways = append(ways, next)
				default:
					found = append(found, strings.Join(next, " imports "))
				}
				seen[to] = true
			}
		}
	}
	return found
}

// What a pure package imports is as pure as it is.
func TestPurityIsTransitive(t *testing.T) {
	imports := map[string][]string{}
	for _, p := range packages(t) {
		for _, i := range p.Imports {
			if strings.HasPrefix(i, module) {
				imports[p.path()] = append(imports[p.path()], inside(i))
			}
		}
	}
	for _, way := range leaks(imports) {
		t.Errorf("%s, which is not pure", way)
	}
	for path, why := range impure {
		if _, ok := imports[path]; !ok || isPure(path) {
			t.Errorf("%s is gone, or pure by now: take it off the list (%s)", path, why)
		}
	}
	imports = map[string][]string{"dispatcher/machine": {"dispatcher/gate"}, "dispatcher/gate": {"dispatcher/job", "dispatcher/hall"}, "dispatcher/job": {"shares"}}
	if found := leaks(imports); len(found) != 2 || found[1] != "dispatcher/machine imports dispatcher/gate imports dispatcher/hall" {
		t.Errorf("found %q, want a leak of gate and one of machine", found)
	}
}

func TestPolicyIsPure(t *testing.T) {
	for _, p := range packages(t) {
		if !isPure(p.path()) {
			continue
		}
		for _, i := range p.Imports {
			for _, banned := range []string{module + "/internal", "net", "os", "context", "database/sql", "github.com/jackc", "log", "sync"} {
				if below(i, banned) {
					t.Errorf("%s imports %s", p.path(), i)
				}
			}
			if to := inside(i); strings.HasPrefix(i, module) && !below(to, "shares") && !(below(to, "dispatcher") && below(p.path(), "dispatcher")) {
				t.Errorf("%s imports %s: it knows shares and rooms below only", p.path(), to)
			}
		}
		for _, name := range p.GoFiles {
			for _, impure := range impurities(t, filepath.Join(p.Dir, name)) {
				t.Error(impure)
			}
		}
	}
}

// impurities are the places of a file that start a goroutine or read the clock.
func impurities(t *testing.T, path string) (found []string) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = append(found, set.Position(n.Pos()).String()+": starts a goroutine")
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && of.Name == "time" && slices.Contains([]string{"Now", "Since", "Until", "After", "Tick", "Sleep"}, n.Sel.Name) {
				found = append(found, set.Position(n.Pos()).String()+": reads the clock")
			}
		}
		return true
	})
	return found
}

func TestImpuritiesAreFound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "impure.go")
	text := "package a\n\nimport \"time\"\n\nfunc f() time.Time {\n\tgo f()\n\treturn time.Now()\n}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if found := impurities(t, path); len(found) != 2 {
		t.Errorf("%q, want two", found)
	}
}
