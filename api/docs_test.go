package api

import (
	"bytes"
	"cmp"
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

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/golden"
)

// docs/http-api.md is testdata/http-api.md with the parts that the code knows filled in.
func TestOverviewIsCommitted(t *testing.T) {
	b := newBench(t)
	frame, err := os.ReadFile("testdata/http-api.md")
	if err != nil {
		t.Fatal(err)
	}
	var routes, errs bytes.Buffer
	writeRoutes(&routes, b)
	writeErrors(&errs)
	text := strings.NewReplacer("<!-- routes -->\n", routes.String(), "<!-- errors -->\n", errs.String()).Replace(string(frame))
	golden.Equal(t, "../docs/http-api.md", text)
}

// docs/access.md is testdata/access.md with the table of rights.
func TestAccessPageIsCommitted(t *testing.T) {
	frame, err := os.ReadFile("testdata/access.md")
	if err != nil {
		t.Fatal(err)
	}
	var w bytes.Buffer
	w.WriteString("| route |")
	for _, role := range access.Roles() {
		fmt.Fprintf(&w, " %s |", role)
	}
	w.WriteString("\n|---|" + strings.Repeat("---|", len(access.Roles())) + "\n")
	routes := slices.Collect(maps.Values(rights))
	slices.SortFunc(routes, func(a, b *right) int {
		return cmp.Or(cmp.Compare(a.pattern, b.pattern), cmp.Compare(a.method, b.method))
	})
	for _, r := range routes {
		fmt.Fprintf(&w, "| `%s %s` |", r.method, r.pattern)
		for _, role := range access.Roles() {
			w.WriteString(map[bool]string{true: " ✓ |", false: " |"}[r.has(&access.Caller{Role: role})])
		}
		w.WriteString("\n")
	}
	golden.Equal(t, "../docs/access.md", strings.Replace(string(frame), "<!-- rights -->\n", w.String(), 1))
}

func writeRoutes(w *bytes.Buffer, b *bench) {
	ops := operations(b)
	for _, tag := range b.server.huma.OpenAPI().Tags {
		fmt.Fprintf(w, "### %s\n\n%s\n\n| route | what it does | parameters |\n|---|---|---|\n", tag.Name, tag.Description)
		for _, op := range ops {
			if op.Tags[0] == tag.Name {
				fmt.Fprintf(w, "| `%s %s` | %s | %s |\n", op.Method, op.Path, op.Summary, parameters(op))
			}
		}
		w.WriteString("\n")
	}
}

func parameters(op *huma.Operation) string {
	var all []string
	for _, p := range op.Parameters {
		if p.In != "path" {
			all = append(all, "`"+p.Name+"`")
		}
	}
	if op.RequestBody != nil {
		for kind, media := range op.RequestBody.Content {
			if name, ok := strings.CutPrefix(media.Schema.Ref, "#/components/schemas/"); ok {
				kind = name
			}
			all = append(all, "body: "+kind)
		}
	}
	return strings.Join(all, ", ")
}

func writeErrors(w *bytes.Buffer) {
	codes := slices.DeleteFunc(writtenCodes(), func(c code) bool { return c == codeGone }) // nobody is there to read it
	slices.SortFunc(codes, func(a, b code) int { return cmp.Or(cmp.Compare(a.status, b.status), cmp.Compare(a.name, b.name)) })
	codes = slices.Compact(codes)
	w.WriteString("| status | code | meaning | Retry-After |\n|---|---|---|---|\n")
	for _, c := range codes {
		retry := ""
		if c.retryIn > 0 {
			retry = fmt.Sprintf("%d–%d s", c.retryIn, 2*c.retryIn)
		}
		fmt.Fprintf(w, "| %d | `%s` | %s | %s |\n", c.status, c.name, c.title, retry)
	}
}

// writtenCodes are all literals of code in errors.go, so that none is forgotten.
func writtenCodes() (codes []code) {
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, parser.SkipObjectResolution)
	if err != nil {
		panic(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if kind, ok := lit.Type.(*ast.Ident); !ok || kind.Name != "code" {
			return true
		}
		values := map[string]string{}
		for _, e := range lit.Elts {
			field := e.(*ast.KeyValueExpr)
			values[field.Key.(*ast.Ident).Name] = field.Value.(*ast.BasicLit).Value
		}
		var c code
		for field, into := range map[string]any{"status": &c.status, "name": &c.name, "title": &c.title, "hint": &c.hint, "retryIn": &c.retryIn} {
			if v, ok := values[field]; ok && json.Unmarshal([]byte(v), into) != nil {
				panic("errors.go: " + v + " is not plain")
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
		item := b.server.huma.OpenAPI().Paths[strings.NewReplacer("/tasks/3", "/tasks/{id}").Replace(plain)]
		op := cmp.Or(item.Post, item.Put)
		media := op.Responses[status].Content["application/json"]
		var v any
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Errorf("%s: %v\n%s", path, err, body)
			continue
		}
		for _, e := range validate(b.server.huma.OpenAPI().Components.Schemas, media.Schema, v) {
			t.Errorf("%s: %v", path, e)
		}
		n++
	}
	if n < 4 {
		t.Errorf("only %d examples", n)
	}
}
