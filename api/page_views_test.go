package api

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/web/hub"
	"github.com/divvyhq/divvy/internal/site/strict"
)

// unfit is what the content security policy would stop: scripts and styles in the page, other hosts.
var unfit = regexp.MustCompile(`(?i)<script(?:>| [^>]*>[^<])|<style|\sstyle=|\son[a-z]+=|javascript:|(?:src|href|action)="(?:https?:)?//`)

var ident = regexp.MustCompile(`\sid="([^"]*)"`)

// Each view that stands still over the fakes is a page that needs nothing else, and JSON that says of when it is.
func TestViews(t *testing.T) {
	b := newBench(t)
	for _, path := range []string{"/", "/shares/A", "/versions", "/versions/2", "/versions/2?against=1", "/what-if", "/series/A", "/series/A?span=week", "/changes", "/changes?what=task&who=root&since=7d"} {
		w := b.call("GET", path, "", "Accept", "text/html,application/xhtml+xml")
		page := w.Body.String()
		if w.Code != 200 || !strings.Contains(page, "</html>") {
			t.Fatalf("%s: %d %s", path, w.Code, page)
		}
		if m := unfit.FindString(page); m != "" {
			t.Errorf("%s: %q does not go with the policy", path, m)
		}
		for _, has := range []string{`<html lang="en">`, `class="skip"`, `<main id="main"`, "<h1>", `id="age"`, "The same as JSON"} {
			if !strings.Contains(page, has) {
				t.Errorf("%s: no %s", path, has)
			}
		}
		seen := map[string]bool{}
		for _, m := range ident.FindAllStringSubmatch(page, -1) {
			if seen[m[1]] {
				t.Errorf("%s: the id %q twice", path, m[1])
			}
			seen[m[1]] = true
		}
		var v struct{ At time.Time }
		w = b.call("GET", path, "", "Accept", "application/json")
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil || v.At.IsZero() && path != "/" && path != "/shares/A" {
			t.Errorf("%s: %v %s", path, err, w.Body)
		}
	}
	for path, status := range map[string]int{"/versions?before=x": 422, "/versions/0": 404, "/versions/2?against=-1": 422, "/series/A?span=year": 422, "/series/X": 404} {
		b.problem(b.call("GET", path, "", "Accept", "application/json"), status)
	}
}

// The file is rehearsed, then asked about once more, and only then applied; and never without the form's token.
func TestWhatIfForm(t *testing.T) {
	b := newBench(t)
	const cookie = "divvy_form=00112233445566778899aabbccddeeff"
	post := func(path string, form url.Values) *httptest.ResponseRecorder {
		return b.call("POST", path, form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Cookie", cookie, "Accept", "text/html")
	}
	form := url.Values{"source": {"shares:\r\n- name: B\r\n"}, "base": {"2"}, "note": {"more"}}
	if w := post("/what-if", form); w.Code != 403 {
		t.Fatalf("without a token: %d", w.Code)
	}
	form.Set("form_token", "00112233445566778899aabbccddeeff")
	if w := post("/what-if", form); w.Code != 200 || !b.site.applied.DryRun || string(b.site.applied.Source) != "shares:\n- name: B\n" {
		t.Fatalf("%d %+v", w.Code, b.site.applied)
	}
	w := post("/apply", form)
	if w.Code != 200 || !b.site.applied.DryRun || !strings.Contains(w.Body.String(), `name="sure" value="yes"`) || !strings.Contains(w.Body.String(), `name="note" value="more"`) {
		t.Fatalf("not asked: %d %s", w.Code, w.Body)
	}
	form.Set("sure", "yes")
	form.Set("base", "1")
	if w := post("/apply", form); w.Code != 409 || !b.site.applied.DryRun {
		t.Errorf("another version is in force: %d", w.Code)
	}
	form.Set("base", "2")
	w = post("/apply", form)
	if w.Code != 303 || b.site.applied.DryRun || b.site.applied.Note != "more" || b.site.applied.By != "page" {
		t.Errorf("%d %+v", w.Code, b.site.applied)
	}
	foreign := b.call("POST", "/apply", form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Cookie", cookie, "Sec-Fetch-Site", "cross-site")
	if foreign.Code != 403 {
		t.Errorf("from a foreign page: %d", foreign.Code)
	}
	b.site.err = strict.Problems{{File: "site.yml", Line: 3, Column: 4, Message: "is odd"}}
	if w := post("/what-if", form); w.Code == 200 && !strings.Contains(w.Body.String(), "site.yml:3:4: is odd") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// Events over a connection: what is open is told, and the stream ends with the hub.
func TestEvents(t *testing.T) {
	hub := hub.New()
	b := newBench(t, func(c *Config) { c.Pages = hub })
	server := httptest.NewServer(b.handler)
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/events?of="+url.QueryEscape("/shares/A"), nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatal(res.Status, res.Header)
	}
	lines := bufio.NewScanner(res.Body)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "retry: ") { // it listens now
		t.Fatal(lines.Text())
	}
	if n, err := hub.Publish(ctx); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	got := ""
	for lines.Scan() && !strings.HasPrefix(got, "data: ") {
		got = lines.Text()
	}
	if !strings.Contains(got, `"default.2":"0.000 0.000\t0\t0\t–`) || strings.Contains(got, `"default.1"`) {
		t.Errorf("the events of one share: %s", got)
	}
	hub.Close()
	for lines.Scan() { // until the end
	}
	if lines.Err() != nil {
		t.Error(lines.Err())
	}
	for of, status := range map[string]int{"/nothing": 404, "https://evil.example/": 404, "/versions": 404, "/?x=1": 422, "/": 503} {
		b.problem(b.call("GET", "/events?of="+url.QueryEscape(of), ""), status)
	}
}
