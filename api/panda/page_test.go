package panda

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/internal/harvester"
	"github.com/divvyhq/divvy/internal/site"
)

// The table of calls on docs/from-panda.md is what is served, both ways.
func TestPageNamesTheCalls(t *testing.T) {
	d, g := (*dispatcher.Dispatcher)(nil), (*generator.Generator)(nil)
	routes := chi.NewMux()
	Routes(routes, Config{Dispatcher: d, Tasks: g, Jobs: d, Work: g, Steering: g, Workers: (*harvester.Store)(nil), Site: (*site.Store)(nil)})
	served := map[string]bool{}
	err := chi.Walk(routes, func(_, path string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		path = strings.Replace(path, "/api/latest/", "/api/v1/", 1)
		if _, refused := notServed[strings.TrimPrefix(path, "/api/v1/task/")]; !refused && !strings.HasPrefix(path, trfPath) {
			served[path] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/from-panda.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| generation | calls |")
	if !found {
		t.Fatal("no table of calls")
	}
	var named []string
	for _, row := range regexp.MustCompile("(?m)^\\| .*`([a-z]+/|/server/panda/)` \\| (.*) \\|$").FindAllStringSubmatch(table, -1) {
		prefix := row[1]
		if !strings.HasPrefix(prefix, "/") {
			prefix = "/api/v1/" + prefix
		}
		for _, call := range strings.Split(row[2], ", ") {
			named = append(named, prefix+call)
		}
	}
	var all []string
	for path := range served {
		all = append(all, path)
	}
	slices.Sort(all)
	slices.Sort(named)
	if diff := cmp.Diff(all, named); diff != "" {
		t.Errorf("served, and on the page:\n%s", diff)
	}
}
