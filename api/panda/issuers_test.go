package panda

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/ownca"
)

// reads makes issuers out of lines.
func reads(t *testing.T, lines string) Issuers {
	t.Helper()
	is, err := ReadIssuers(nil)("issuers", strings.NewReader(lines))
	if err != nil {
		t.Fatal(err)
	}
	return is
}

// Tokens of an issuer are good for the origins that their groups stand for, as far as the issuer's line goes.
func TestIssuers(t *testing.T) {
	i, foreign := ownca.NewIssuer(t), ownca.NewIssuer(t)
	url := listen(t, &Access{Issuers: reads(t, i.URL+"/ divvy,other atlas atlas.* robot:r2d2\n"), Tokens: accessOf(t, false).Tokens}, nil)
	forged := func() string { // another key with the same name
		return i.Sign(ownca.NewKey(t), `{"iss":"`+i.URL+`","sub":"ann","aud":"divvy","exp":99999999999,"groups":["/atlas"]}`)
	}()
	ann := func(origin string) string {
		return `{"Token":"","User":"ann","DN":"","Origin":"` + origin + `","Operator":false}`
	}
	ago := func(d time.Duration) any { return time.Now().Add(-d).Unix() }
	over := time.Now().Add(-2 * time.Minute)
	for _, c := range []struct {
		name, token, origin string
		status              int
		want                string
	}{
		{"group", i.Token(nil), "atlas.pilot", 200, ann("atlas.pilot")},
		{"vo", i.Token(nil), "atlas", 200, ann("atlas")},
		{"with a colon", i.Token(nil), "atlas:pilot", 200, ann("atlas.pilot")},
		{"wlcg", i.Token(map[string]any{"groups": nil, "wlcg.groups": []string{"/atlas/production"}}), "atlas.production", 200, ann("atlas.production")},
		{"second audience", i.Token(map[string]any{"aud": []string{"x", "other"}}), "atlas", 200, ann("atlas")},
		{"audience in client_id", i.Token(map[string]any{"aud": nil, "client_id": "divvy"}), "atlas", 200, ann("atlas")},
		{"robot", i.Token(map[string]any{"sub": "r2d2", "groups": nil}), "atlas.production", 200, strings.Replace(ann("atlas.production"), "ann", "r2d2", 1)},
		{"robot by client", i.Token(map[string]any{"client_id": "r2d2", "groups": nil}), "atlas.pilot", 200, ann("atlas.pilot")},
		{"a clock that is off", i.Token(map[string]any{"exp": ago(20 * time.Second)}), "atlas", 200, ann("atlas")},
		{"slash at the end", i.Token(map[string]any{"iss": i.URL + "/"}), "atlas", 200, ann("atlas")},
		{"an opaque token beside it", "cern-token-0123456789", "any", 200, `{"Token":"cern","User":"","DN":"","Origin":"any","Operator":false}`},
		{"group of another issuer's line", i.Token(nil), "cms.pilot", 403, "ann may not speak for cms.pilot, only for atlas, atlas.pilot"},
		{"no origin", i.Token(nil), "", 403, "ann needs an origin, one of atlas, atlas.pilot"},
		{"no group", i.Token(map[string]any{"groups": nil}), "atlas", 403, "the token of ann names no group that panda_issuers has an origin for"},
		{"a glob for a group", i.Token(map[string]any{"groups": []string{"/atlas/*"}}), "atlas.production", 403, "the token of ann names no group that panda_issuers has an origin for"},
		{"robot of another audience", i.Token(map[string]any{"sub": "r2d2", "aud": "x"}), "atlas", 403, "the token of r2d2 is not for this server: its audience is x"},
		{"no audience", i.Token(map[string]any{"aud": nil}), "atlas", 403, "the token of ann is not for this server: its audience is no audience"},
		{"run out", i.Token(map[string]any{"exp": over.Unix()}), "atlas", 403, "the token has run out, at " + over.UTC().Format(time.RFC3339)},
		{"not yet", i.Token(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}), "atlas", 403, "the token is not good: it is not signed by its issuer, or not for now"},
		{"forged", forged, "atlas", 403, "the token is not good: it is not signed by its issuer, or not for now"},
		{"not signed", "eyJhbGciOiJub25lIn0." + strings.Split(i.Token(nil), ".")[1] + ".", "atlas", 403, "the token is not good: it is not signed by its issuer, or not for now"},
		{"foreign issuer", foreign.Token(nil), "atlas", 403, fmt.Sprintf("the token's issuer %q is not in panda_issuers", foreign.URL)},
		{"groups that are none", i.Token(map[string]any{"groups": "atlas"}), "atlas", 403, "the token's claims cannot be read: expected client_id and groups as texts"},
		{"no subject", i.Token(map[string]any{"sub": nil}), "atlas", 403, `the token's subject "" is no name of a user`},
		{"another's name but for a blank", i.Token(map[string]any{"sub": " ann"}), "atlas", 403, `the token's subject " ann" is no name of a user`},
		{"robot without a subject", i.Token(map[string]any{"sub": nil, "client_id": "r2d2"}), "atlas", 403, `the token's subject "" is no name of a user`},
		{"no JSON web token", "a.b.c", "atlas", 403, "the token is not known here"},
	} {
		k := knock{path: "/api/v1/pilot/update_job", authorization: "Bearer " + c.token, origin: c.origin}
		status, body := k.do(t, http.DefaultClient, url)
		if c.status == 403 {
			sameJSON(t, body, map[string]any{"success": false, "message": c.want, "data": nil})
		}
		if status != c.status || status == 200 && body != c.want || strings.Contains(body, c.token) {
			t.Errorf("%s: %d %s", c.name, status, body)
		}
	}
	if n := i.Asked.Load(); n != 2 {
		t.Errorf("the issuer was asked %d times, want once for where its keys are and once for them: forged tokens are no reason", n)
	}
	if n := foreign.Asked.Load(); n != 0 {
		t.Errorf("a foreign issuer was asked %d times", n)
	}
}

// An issuer that does not answer is no reason to refuse a pilot for ever, and none to forget its keys.
func TestIssuerAway(t *testing.T) {
	i := ownca.NewIssuer(t)
	i.Away.Store(true)
	is := reads(t, i.URL+" divvy atlas")
	url := listen(t, &Access{Issuers: is}, nil)
	call := func(path string) (int, string) {
		return knock{path: path, authorization: "Bearer " + i.Token(nil), origin: "atlas"}.do(t, http.DefaultClient, url)
	}
	words := "the token cannot be checked now: its issuer " + i.URL + " does not answer; try again"
	for path, want := range map[string]string{"/server/panda/updateJob": `{"StatusCode":10,"errorDialog":"` + words + `"}`, "/api/v1/pilot/update_job": `{"success":false,"message":"` + words + `","data":null}`} {
		if status, body := call(path); status != http.StatusServiceUnavailable || body != want {
			t.Errorf("%d %s, want %s", status, body, want)
		}
	}
	if n := i.Asked.Load(); n != 1 {
		t.Errorf("asked %d times within a moment", n)
	}
	i.Away.Store(false)
	is[0].AskAgain()
	if status, body := call(isAlivePath); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	i.Away.Store(true)
	is[0].AskAgain()
	if status, body := call(isAlivePath); status != 200 {
		t.Errorf("with the keys of before: %d %s", status, body)
	}
}

const isAlivePath = "/api/v1/system/is_alive"

func TestReadIssuersFaults(t *testing.T) {
	for src, want := range map[string]string{
		"":                              "f: no issuer in it; write one a line: https://iam.example.org/ audience vo vo.*",
		"\nhttps://a b\n":               "f:2: expected an issuer, an audience and at least one origin, got 2 words",
		"https://a b robot:c":           "f:1: expected at least one origin",
		"https://a b c robot:":          "f:1: a robot has no name",
		"https://a b, c":                "f:1: an audience has no name",
		"https://a b [c":                `f:1: origin "[c" is no glob`,
		"http://a.example b c":          `f:1: issuer "http://a.example" is not an address such as https://iam.example.org/; http is for loopback`,
		"ftp://127.0.0.1 b c":           `f:1: issuer "ftp://127.0.0.1" is not an address`,
		"a b c":                         `f:1: issuer "a" is not an address`,
		"https://u:p@a b c":             `f:1: issuer "https://u:p@a" is not an address`,
		"https://a b c\nhttps://a/ b c": "f:2: issuer https://a/ stands in a line above",
	} {
		if _, err := ReadIssuers(nil)("f", strings.NewReader(src)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", src, err, want)
		}
	}
}
