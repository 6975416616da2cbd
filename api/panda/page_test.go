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
		_, task := notServed[strings.TrimPrefix(path, "/api/v1/task/")]
		_, job := jobRefusals[strings.TrimPrefix(path, "/api/v1/job/")]
		if !task && !job && !strings.HasPrefix(path, trfPath) && !strings.HasSuffix(path, "/*") {
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
	table, _, _ = strings.Cut(table, "\n\n")
	for _, row := range regexp.MustCompile(`(?m)^\| (.*) \| (.*) \|$`).FindAllStringSubmatch(table, -1) {
		calls := strings.Split(row[2], "; ") // of each group
		for i, prefix := range regexp.MustCompile("`([a-z]+/|/server/panda/)`").FindAllStringSubmatch(row[1], -1) {
			for _, call := range strings.Split(calls[i], ", ") {
				if !strings.HasPrefix(prefix[1], "/") {
					call = "/api/v1/" + prefix[1] + call
				} else {
					call = prefix[1] + call
				}
				named = append(named, call)
			}
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
