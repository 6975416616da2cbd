package panda

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/internal/ownca"
	"github.com/divvyhq/divvy/internal/site"
)

// A submitter submits in its user's name, whatever the parameters say; operators submit for others. The audit has the task, and who it was, also where it cannot be.
func TestSubmitInWhoseName(t *testing.T) {
	w, issuer := steered(t), ownca.NewIssuer(t)
	guard := guardOf(t, false, issuer.URL+" divvy sub=r2d2 submitter user:{sub}\n"+issuer.URL+" divvy groups=/atlas/production operator origin:atlas.production\n"+issuer.URL+" divvy groups=/atlas submitter user:{sub}\n")
	routes := chi.NewMux()
	Routes(routes, Config{Dispatcher: w.dispatcher, Tasks: w.known, Known: w.known, Submissions: w.generator.Submissions(), Steering: w.generator.Verbs(), Site: site.NewStore(site.Config{Pool: w.db}), Callers: guard.Callers})
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
		{"submit", robot, "atlas.production", map[string]any{"userName": "boss"}, "r2d2", "r2d2", true},
		{"submit", producer, "atlas.production", map[string]any{"userName": "boss"}, "boss", "ann", false},
		{"submit", "cern-token-0123456789", "atlas", map[string]any{"userName": "boss"}, "boss", "cern", false},
		{"submit", "ops-token-0123456789", "", map[string]any{"userName": "boss"}, "boss", "token file", false},
		{"submit", "cern-token-0123456789", "", map[string]any{"userName": nil}, "cern", "cern", false},
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
		if got, err := w.known.Task(t.Context(), int64(id)); err != nil || got.User != c.user {
			t.Errorf("%s by %s as %s: user %q, want %q (%v)", c.call, c.who, c.origin, got.User, c.user, err)
		}
		var noted string
		err = w.db.QueryRow(t.Context(), "SELECT string_agg(who || ' ' || after, '; ') FROM audit WHERE what = 'task.submit' AND object = $1::bigint::text", int64(id)).Scan(&noted)
		if want := c.who + " mc.evgen of " + c.user; err != nil || noted != want {
			t.Errorf("%s by %s as %s: the audit has %q, want %q (%v)", c.call, c.who, c.origin, noted, want, err)
		}
	}
}
