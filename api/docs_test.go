package api

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/golden"
)

// docs/http-api.md is testdata/http-api.md with the parts that the code knows filled in.
func TestOverviewIsCommitted(t *testing.T) {
	frame, err := os.ReadFile("testdata/http-api.md")
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	writeErrors(&errs)
	text := strings.NewReplacer("<!-- errors -->\n", errs.String()).Replace(string(frame))
	golden.Equal(t, "../docs/http-api.md", text)
}

// docs/rights.csv says which roles may call which route.
func TestRightsAreCommitted(t *testing.T) {
	table := [][]string{{"method", "route", "roles"}}
	for _, r := range edge.Rights {
		var may []string
		for _, role := range access.Roles() {
			if r.Has(&access.Caller{Role: role}) {
				may = append(may, string(role))
			}
		}
		table = append(table, []string{r.Method, r.Pattern, strings.Join(may, " ")})
	}
	slices.SortFunc(table[1:], func(a, b []string) int { return cmp.Or(cmp.Compare(a[1], b[1]), cmp.Compare(a[0], b[0])) })
	var text strings.Builder
	if err := csv.NewWriter(&text).WriteAll(table); err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "../docs/rights.csv", text.String())
}

func writeErrors(w *bytes.Buffer) {
	codes := slices.DeleteFunc(writtenCodes(), func(c problem.Code) bool { return c == problem.Gone }) // nobody is there to read it
	slices.SortFunc(codes, func(a, b problem.Code) int {
		return cmp.Or(cmp.Compare(a.Status, b.Status), cmp.Compare(a.Name, b.Name))
	})
	codes = slices.Compact(codes)
	byStatus := map[int][]string{}
	for _, c := range codes {
		name := "`" + c.Name + "`"
		if c.RetryIn > 0 {
			name += fmt.Sprintf(" (%d–%d s)", c.RetryIn, 2*c.RetryIn)
		}
		byStatus[c.Status] = append(byStatus[c.Status], name)
	}
	for _, status := range slices.Sorted(maps.Keys(byStatus)) {
		fmt.Fprintf(w, "- %d: %s\n", status, strings.Join(byStatus[status], ", "))
	}
}

// writtenCodes are all literals of Code in problem/errors.go, so that none is forgotten.
func writtenCodes() (codes []problem.Code) {
	file, err := parser.ParseFile(token.NewFileSet(), "problem/errors.go", nil, parser.SkipObjectResolution)
	if err != nil {
		panic(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if kind, ok := lit.Type.(*ast.Ident); !ok || kind.Name != "Code" {
			return true
		}
		values := map[string]string{}
		for _, e := range lit.Elts {
			field := e.(*ast.KeyValueExpr)
			values[field.Key.(*ast.Ident).Name] = field.Value.(*ast.BasicLit).Value
		}
		var c problem.Code
		for field, into := range map[string]any{"Status": &c.Status, "Name": &c.Name, "Title": &c.Title, "Hint": &c.Hint, "RetryIn": &c.RetryIn} {
			if v, ok := values[field]; ok && json.Unmarshal([]byte(v), into) != nil {
				panic("problem/errors.go: " + v + " is not plain")
			}
		}
		codes = append(codes, c)
		return true
	})
	return codes
}

// The examples of the overview are requests that the API takes, and answers that it describes.
func TestExamplesOfTheOverview(t *testing.T) {
	b := newBench(t)
	frame, err := os.ReadFile("testdata/http-api.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, block := range strings.Split(string(frame), "```http\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		request, answer, _ := strings.Cut(block, "\nHTTP/1.1 ")
		head, body, _ := strings.Cut(strings.TrimSpace(request), "\n\n")
		method, path, _ := strings.Cut(strings.SplitN(head, "\n", 2)[0], " ")
		w := b.call(method, path, body)
		if w.Code >= 300 {
			t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
		}
		status, rest, _ := strings.Cut(answer, " ")
		_, body, ok := strings.Cut(strings.TrimSpace(rest), "\n\n")
		if !ok {
			continue
		}
		plain, _, _ := strings.Cut(path, "?")
		item := b.server.doc.huma.OpenAPI().Paths[strings.NewReplacer("/tasks/3", "/tasks/{id}").Replace(plain)]
		op := cmp.Or(item.Post, item.Put)
		media := op.Responses[status].Content["application/json"]
		var v any
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Errorf("%s: %v\n%s", path, err, body)
			continue
		}
		for _, e := range validate(b.server.doc.huma.OpenAPI().Components.Schemas, media.Schema, v) {
			t.Errorf("%s: %v", path, e)
		}
		n++
	}
	if n < 4 {
		t.Errorf("only %d examples", n)
	}
}
