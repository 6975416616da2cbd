package panda

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/harvester"
	"github.com/divvyhq/divvy/internal/sandbox"
	"github.com/divvyhq/divvy/internal/site"
)

// caller makes calls of the new API as scripts and Harvesters do, at a server that has all of them.
type caller struct {
	t   testing.TB
	url string
}

// caller is one that may act for all users.
func (w *world) caller() caller {
	return w.callerAs(access.Caller{Name: "alice", From: "certificate /CN=alice", Vouched: true, Role: access.Operator, DN: "/CN=alice", Origin: "atlas.production"})
}

// forHerself is a caller who stands for one user.
func forHerself(user string) access.Caller {
	return access.Caller{Name: user, From: "certificate /CN=" + user, Vouched: true, Role: access.Submitter, Subject: access.Subject{User: user}, DN: "/CN=" + user, Origin: "atlas"}
}

func (w *world) callerAs(c access.Caller) caller {
	routes := chi.NewMux()
	routes.Use(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(rw, r.WithContext(access.With(r.Context(), &c)))
		})
	})
	Routes(routes, Config{Dispatcher: w.dispatcher, Tasks: w.known, Jobs: w.dispatcher, Work: w.known, Workers: harvester.NewStore(w.db), Sandboxes: sandbox.NewStore(w.db),
		Known: w.known, Submissions: w.generator.Submissions(), Steering: w.generator.Verbs(), Site: site.NewStore(site.Config{Pool: w.db})})
	server := httptest.NewServer(routes)
	w.t.Cleanup(server.Close)
	return caller{w.t, server.URL + "/api/v1"}
}

// raw makes a call and returns the body of its answer.
func (c caller) raw(method, path string, args map[string]any) string {
	c.t.Helper()
	var body io.Reader
	at := c.url + path
	if method == http.MethodGet {
		at += "?" + queryOf(args).Encode()
	} else if args != nil {
		b, err := json.Marshal(args)
		if err != nil {
			c.t.Fatal(err)
		}
		body = bytes.NewReader(b)
	}
	r, err := http.NewRequest(method, at, body)
	if err != nil {
		c.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		c.t.Fatalf("%s: status %d, %v: %s", path, resp.StatusCode, err, b)
	}
	return string(b)
}

// queryOf writes arguments as PanDA's client does: lists as repeated names.
func queryOf(args map[string]any) url.Values {
	q := url.Values{}
	for name, v := range args {
		if many, ok := v.([]int64); ok {
			for _, one := range many {
				q.Add(name, fmt.Sprint(one))
			}
			continue
		}
		q.Set(name, fmt.Sprint(v))
	}
	return q
}

// data makes a call that must go well and reads what it answers.
func (c caller) data(method, path string, args map[string]any, into any) {
	c.t.Helper()
	body := c.raw(method, path, args)
	e := struct {
		Success bool
		Message string
		Data    any
	}{Data: into}
	if err := json.Unmarshal([]byte(body), &e); err != nil || !e.Success {
		c.t.Fatalf("%s: %v in %s", path, err, body)
	}
}

// answered is a call and the answer that it must have, to the letter.
type answered struct {
	method, path string
	args         map[string]any
	want         string
}

func (c caller) check(calls []answered) {
	c.t.Helper()
	for _, a := range calls {
		if got := c.raw(a.method, a.path, a.args); got != a.want {
			c.t.Errorf("%s %v\n got %s\nwant %s", a.path, a.args, got, a.want)
		}
	}
}

const (
	get  = http.MethodGet
	send = http.MethodPost

	nothing = `{"success":true,"message":"","data":null}`
)
