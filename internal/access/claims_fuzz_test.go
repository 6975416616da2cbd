package access

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/ownca"
)

// Whatever a signed token claims, it is refused in words without itself, or stands for the role that its claims have a line for.
func FuzzClaims(f *testing.F) {
	for _, s := range []string{`{"groups":["/divvy/admins"]}`, `{"groups":["/divvy/x"],"preferred_username":"ann"}`, `{"groups":"/divvy/x","preferred_username":" "}`, `{"scope":"a divvy.pull"}`,
		`{"scope":["divvy.pull"]}`, `{"sub":"r2d2"}`, `{"sub":7}`, `{"aud":["x","divvy"],"client_id":{}}`, `{"aud":[],"client_id":"divvy","scope":"divvy.pull"}`, `{"exp":"soon"}`, `{"exp":1e300}`, `{"nbf":-1}`,
		`{"groups":{"a":"/divvy/admins"}}`, `{"groups":[["/divvy/admins"],null]}`, `{"iss":"x"}`, `{"Groups":["/divvy/admins"]}`, `[]`, `null`, `{`, "{\"sub\":\"a\\nb\",\"scope\":\"divvy.pull\"}"} {
		f.Add(s)
	}
	i := ownca.NewIssuer(f)
	is, err := ReadIssuers(nil)("f", strings.NewReader(strings.ReplaceAll(`I divvy groups=/divvy/admins admin
I divvy scope=divvy.pull pilot queue:CERN
I divvy groups=/divvy/* submitter user:{preferred_username}
I divvy sub=r2d2 operator
`, "I ", i.URL+" ")))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, payload string) {
		var said map[string]any
		if json.Unmarshal([]byte(payload), &said) != nil || said == nil {
			if c, err := is.caller(t.Context(), i.Say(payload), As{}); err == nil {
				t.Errorf("%+v of what are no claims", c)
			}
			return
		}
		claims, err := json.Marshal(whole(said, i.URL))
		if err != nil {
			t.Fatal(err)
		}
		token := i.Say(string(claims))
		c, err := is.caller(t.Context(), token, As{})
		if (c == nil) != (err != nil) || err != nil && strings.Contains(err.Error(), token) {
			t.Fatalf("%+v %v", c, err)
		}
		if again, err2 := is.caller(t.Context(), token, As{}); says(again) != says(c) || (err2 != nil) != (err != nil) {
			t.Errorf("once more: %+v %v, not %+v %v", again, err2, c, err)
		}
		if err != nil {
			return
		}
		groups, isGroup := texts("groups", said["groups"]), func(g string) bool { ok, _ := path.Match("/divvy/*", g); return ok }
		user, _ := said["preferred_username"].(string)
		ok := false
		switch c.Role {
		case Admin:
			ok = slices.Contains(groups, "/divvy/admins")
		case Pilot:
			ok = slices.Contains(texts("scope", said["scope"]), "divvy.pull") && slices.Equal(c.Queues, []string{"CERN"})
		case Submitter:
			ok = slices.ContainsFunc(groups, isGroup) && c.User == user && userName(user)
		case Operator:
			ok = said["sub"] == "r2d2"
		}
		if !ok || strings.ContainsFunc(c.Name, control) || len(c.Name) > maxName+len("…") {
			t.Errorf("%q stands for %+v", payload, c)
		}
	})
}

// whole are claims with what a token for divvy must have and they do not say; nobody says whose it is.
func whole(said map[string]any, issuer string) map[string]any {
	all := map[string]any{"sub": "ann", "aud": "divvy", "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(all, said)
	all["iss"] = issuer
	return all
}
