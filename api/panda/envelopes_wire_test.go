package panda

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/internal/harvester"
	"github.com/divvyhq/divvy/internal/sandbox"
	"github.com/divvyhq/divvy/internal/site"
)

// plausible and absurd are values for arguments of each kind. What a query or a body can say of any kind has no absurd one.
var (
	plausible = map[wire.Kind]any{wire.Integer: 1, wire.Number: 1.5, wire.Text: "x", wire.Boolean: true, wire.List: []any{}, wire.Object: map[string]any{}, wire.Integers: []int64{1}, wire.Anything: "x"}
	absurd    = map[wire.Kind]any{wire.Integer: "one", wire.Number: "much", wire.Text: []any{}, wire.Boolean: "maybe", wire.List: map[string]any{}, wire.Object: 1, wire.Integers: []any{"one"}}
)

// needs are arguments that an endpoint needs, with some over them.
func needs(e wire.Endpoint, more map[string]any) map[string]any {
	all := map[string]any{}
	for name, k := range e.Takes {
		if k&wire.Needed != 0 {
			all[name] = plausible[k&^wire.Needed]
		}
	}
	maps.Copy(all, more)
	return all
}

// envelopeOf makes a call and checks the form of its answer; it returns the status, and what else stands in it.
func (c caller) envelopeOf(method, path string, said map[string]any, body string) (status int, e wire.Envelope) {
	c.t.Helper()
	at, what := c.url+path, body
	if method == http.MethodGet {
		at += "?" + queryOf(said).Encode()
	} else if said != nil {
		b, err := json.Marshal(said)
		if err != nil {
			c.t.Fatal(err)
		}
		what = string(b)
	}
	r, err := http.NewRequest(method, at, strings.NewReader(what))
	if err != nil {
		c.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(b, &keys); err != nil {
		c.t.Fatalf("%s %s %v: %v in %d %s", method, path, said, err, resp.StatusCode, b)
	}
	if got := slices.Sorted(maps.Keys(keys)); !slices.Equal(got, []string{"data", "message", "success"}) {
		c.t.Errorf("%s %s %v: the keys are %v", method, path, said, got)
	}
	for key, want := range map[string]string{"success": "tf", "message": `"`} {
		if len(keys[key]) == 0 || !strings.ContainsRune(want, rune(keys[key][0])) {
			c.t.Errorf("%s %s %v: %s is %s", method, path, said, key, keys[key])
		}
	}
	if kind := resp.Header.Get("Content-Type"); kind != "application/json" || resp.ContentLength != int64(len(b)) {
		c.t.Errorf("%s %s: %s of length %d, %d came", method, path, kind, resp.ContentLength, len(b))
	}
	if err := json.Unmarshal(b, &e); err != nil {
		c.t.Errorf("%s: %v", path, err)
	}
	return resp.StatusCode, e
}

// Every call of the new API answers with an envelope of exactly three keys, whatever it is asked: 200, and 500 for a body
// that is none. What an argument may not be is said with its name.
func TestEnvelopes(t *testing.T) {
	w := newWorld(t)
	everything := Config{Dispatcher: w.dispatcher, Tasks: w.known, Jobs: w.dispatcher, Work: w.known, Workers: harvester.NewStore(w.db), Sandboxes: sandbox.NewStore(w.db),
		Known: w.known, Submissions: w.generator.Submissions(), Steering: w.generator.Verbs(), Site: site.NewStore(site.Config{Pool: w.db})}
	routes := chi.NewMux()
	Routes(routes, everything)
	server := httptest.NewServer(routes)
	t.Cleanup(server.Close)
	all := newServer(everything).calls()
	if len(all) < 50 {
		t.Fatalf("%d calls", len(all))
	}
	for _, e := range all {
		t.Run(strings.TrimPrefix(e.Path, "/"), func(t *testing.T) {
			asked(caller{t, server.URL + "/api/v1"}, e)
		})
	}
}

// asked asks one call in all ways, right and wrong.
func asked(c caller, e wire.Endpoint) {
	c.t.Helper()
	refused := func(what, word string, status int, got wire.Envelope) {
		if status != http.StatusOK || got.Success || !strings.Contains(got.Message, word) {
			c.t.Errorf("%s: %d %+v", what, status, got)
		}
	}
	method := e.Method
	if method != http.MethodGet {
		method = http.MethodPost
	}
	_, open := e.Takes[wire.AnyName]
	if status, _ := c.envelopeOf(method, e.Path, needs(e, map[string]any{}), ""); status != http.StatusOK {
		c.t.Errorf("with what it needs: %d", status)
	}
	if !open {
		status, got := c.envelopeOf(method, e.Path, needs(e, map[string]any{"sitename": "x"}), "")
		refused("an unknown argument", "unexpected keyword argument 'sitename'", status, got)
	}
	for name, k := range e.Takes {
		if method == http.MethodGet && k&^wire.Needed != wire.Integer && k&^wire.Needed != wire.Number || absurd[k&^wire.Needed] == nil || name == wire.AnyName {
			continue
		}
		status, got := c.envelopeOf(method, e.Path, needs(e, map[string]any{name: absurd[k&^wire.Needed]}), "")
		refused(name+" of another kind", "'"+name+"'", status, got)
	}
	if method == http.MethodPost {
		if status, got := c.envelopeOf(method, e.Path, nil, `{"site_name"`); status != http.StatusInternalServerError || got.Success || got.Message == "" {
			c.t.Errorf("half a body: %d %+v", status, got)
		}
	}
	if method == e.Method {
		other := http.MethodGet
		if method == http.MethodGet {
			other = http.MethodPost
		}
		status, got := c.envelopeOf(other, e.Path, nil, "")
		refused("another method", "expecting "+e.Method, status, got)
	}
}
