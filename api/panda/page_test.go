package panda

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/api/panda/taskspec"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/golden"
	"github.com/divvyhq/divvy/internal/harvester"
	"github.com/divvyhq/divvy/internal/site"
)

// docs/panda-calls.csv is what is served.
func TestPageNamesTheCalls(t *testing.T) {
	d, k := (*dispatcher.Dispatcher)(nil), (*view.Reader)(nil)
	routes := chi.NewMux()
	Routes(routes, Config{Dispatcher: d, Tasks: k, Jobs: d, Work: k, Known: k, Submissions: (*generator.Submissions)(nil), Steering: (*generator.Verbs)(nil), Workers: (*harvester.Store)(nil), Site: (*site.Store)(nil)})
	served := map[string]bool{}
	err := chi.Walk(routes, func(_, path string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		path = strings.Replace(path, "/api/latest/", "/api/v1/", 1)
		_, task := notServed[strings.TrimPrefix(path, "/api/v1/task/")]
		_, job := jobRefusals[strings.TrimPrefix(path, "/api/v1/job/")]
		if !task && !job && !strings.HasPrefix(path, taskspec.TrfPath) && !strings.HasSuffix(path, "/*") {
			served[path] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Sorted(maps.Keys(served))
	golden.Equal(t, "../../docs/panda-calls.csv", "call\n"+strings.Join(all, "\n")+"\n")
}
