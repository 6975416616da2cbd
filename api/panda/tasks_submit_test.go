package panda

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/internal/ownca"
	"github.com/divvyhq/divvy/internal/site"
)

// Who stands for a user submits in its own name, whatever the parameters say; production, operators and tokens that are
// nobody's submit for others. The audit has the task, and who it was, also where it cannot be.
func TestSubmitInWhoseName(t *testing.T) {
	w, issuer := steered(t), ownca.NewIssuer(t)
	guard := accessOf(t, false)
	var err error
	if guard.Issuers, err = ReadIssuers(slog.New(slog.DiscardHandler))("f", strings.NewReader(issuer.URL+" divvy atlas atlas.* robot:r2d2\n")); err != nil {
		t.Fatal(err)
	}
	routes := chi.NewMux()
	Routes(routes, Config{Dispatcher: w.dispatcher, Tasks: w.generator, Steering: w.generator, Site: site.NewStore(site.Config{Pool: w.db}), Guard: guard.Guard})
	server := httptest.NewServer(routes)
	defer server.Close()
	ann, robot := issuer.Token(nil), issuer.Token(map[string]any{"sub": "r2d2", "groups": nil})
	producer := issuer.Token(map[string]any{"groups": []string{"/atlas/production"}})
	broken := map[string]any{"userName": "boss", "nEvents": "many"}
	for _, c := range []struct {
		call, token, origin string
		change              map[string]any
		user, who           string
		told                bool
	}{
		{"submit", ann, "atlas", map[string]any{"userName": "boss"}, "ann", "ann", true},
		{"submit", ann, "atlas", map[string]any{"userName": map[string]any{}}, "ann", "ann", true},
		{"submit", ann, "atlas", map[string]any{"userName": "ann"}, "ann", "ann", false},
		{"submit", ann, "atlas", map[string]any{"userName": nil}, "ann", "ann", false},
		{"submit", robot, "atlas.production", map[string]any{"userName": "boss"}, "r2d2", "r2d2", true}, // a glob lets it speak for that
		{"submit", producer, "atlas.production", map[string]any{"userName": "boss"}, "boss", "ann", false},
		{"submit", "cern-token-0123456789", "atlas", map[string]any{"userName": "boss"}, "boss", "cern", false},
		{"submit", "operator-token-0123", "", map[string]any{"userName": "boss"}, "boss", "op", false},
		{"submit", "operator-token-0123", "", map[string]any{"userName": nil}, "op", "op", false},
		{"insert_task_parameters", ann, "atlas", broken, "ann", "ann", false},
		{"insert_task_parameters", producer, "atlas.production", broken, "boss", "ann", false},
	} {
		r, err := http.NewRequest(http.MethodPost, server.URL+"/api/v1/task/"+c.call, strings.NewReader(string(asJSON(t, map[string]any{"task_parameters": evgen(c.change)}))))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+c.token)
		r.Header.Set("Origin", c.origin)
		_, a := ask(t, r)
		id, made := a["data"].(float64)
		if a["success"] != true || !made || strings.Contains(a["message"].(string), "userName (the credential stands for "+c.user) != c.told {
			t.Errorf("%s by %s as %s: %v", c.call, c.who, c.origin, a)
			continue
		}
		if got, err := w.generator.Task(t.Context(), int64(id)); err != nil || got.User != c.user {
			t.Errorf("%s by %s as %s: user %q, want %q (%v)", c.call, c.who, c.origin, got.User, c.user, err)
		}
		var noted string
		err = w.db.QueryRow(t.Context(), "SELECT string_agg(who || ' ' || after, '; ') FROM audit WHERE what = 'task.submit' AND object = $1::bigint::text", int64(id)).Scan(&noted)
		if want := c.who + " mc.evgen of " + c.user; err != nil || noted != want {
			t.Errorf("%s by %s as %s: the audit has %q, want %q (%v)", c.call, c.who, c.origin, noted, want, err)
		}
	}
}
