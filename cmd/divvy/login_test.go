package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/servetest"
	"github.com/divvyhq/divvy/internal/ownca"
)

// atHome gives commands a home of their own, and no credential.
func atHome(t *testing.T) (home string) {
	t.Helper()
	home = t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	for _, name := range []string{"DIVVY_TOKEN", "DIVVY_TOKEN_FILE", "DIVVY_CERT", "DIVVY_SERVER"} {
		t.Setenv(name, "")
	}
	return home
}

// A person logs in, works as that person, is renewed without a word, and logs out.
func TestLoginOfAPerson(t *testing.T) {
	home := atHome(t)
	i := ownca.NewIssuer(t)
	i.Claims, i.Polls, i.Life = map[string]any{"preferred_username": "alice"}, []string{"authorization_pending"}, 20*time.Second
	i.Opaque = true
	d, _ := launch(t, func(c *config.Config) {
		c.Access.Issuers = servetest.File(t, i.URL+" divvy login\n"+i.URL+" divvy sub=ann submitter user:{preferred_username}\n")
		c.Access.TokenFile = servetest.File(t, "root-token-0123456789\n")
	})
	as := func(args ...string) outcome { return divvy(t, append(args, "--server", d.URL())...) }
	if o := as("task", "list"); o.code != fail.Failed || !strings.Contains(o.err, "Log in: divvy login.") {
		t.Errorf("%+v", o)
	}
	o := as("login")
	if o.code != fail.OK || !strings.Contains(o.err, "Open "+i.URL+"/enter and enter the code WXYZ-1234") || !strings.Contains(o.out, "web token of "+i.URL+" ann") || !strings.Contains(o.out, ", then renewed") {
		t.Fatalf("%+v", o)
	}
	files, err := filepath.Glob(filepath.Join(home, "divvy/logins/*.json"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	i.Now(func(l *ownca.Logins) { l.Life = time.Hour })
	submitted := as("task", "submit", "-f", servetest.File(t, "name: x\nuser: bob\nlabel: user\ncount: 1\ncommand: [\"true\"]\n"), "-o", "json")
	var tasks wire.Page[wire.Task]
	if err := json.Unmarshal([]byte(submitted.out), &tasks); err != nil || len(tasks.Items) != 1 || tasks.Items[0].User != "alice" {
		t.Errorf("%+v %v", submitted, err)
	}
	i.Now(func(l *ownca.Logins) {
		if l.Renewed != 1 {
			t.Errorf("%d renewals, want that of the first command", l.Renewed)
		}
	})
	var me wire.Whoami
	if o := as("whoami", "-o", "json"); json.Unmarshal([]byte(o.out), &me) != nil || me.User != "alice" || me.By != "web token" || me.Until == nil {
		t.Errorf("%+v", o)
	}
	t.Setenv("DIVVY_TOKEN", "root-token-0123456789")
	if o := as("whoami"); o.code != fail.OK || !strings.Contains(o.out, "token file") || strings.Contains(o.out, "renewed") {
		t.Errorf("another credential comes first: %+v", o)
	}
	t.Setenv("DIVVY_TOKEN", "")
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var kept map[string]any
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	kept["expires"] = "2026-01-02T03:04:05Z"
	if text, err = json.Marshal(kept); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
	i.Away.Store(true)
	if o := as("task", "list"); o.code != fail.Failed || !strings.Contains(o.err, "issuer "+i.URL+" does not answer") || !strings.Contains(o.err, "Try again") {
		t.Errorf("%+v", o)
	}
	i.Away.Store(false)
	i.End()
	if o := as("task", "list"); o.code != fail.Failed || !strings.Contains(o.err, "your login at "+d.URL()+" ended at 2026-01-02T03:04:05Z") || !strings.Contains(o.err, "Run: divvy login --server "+d.URL()) {
		t.Errorf("%+v", o)
	}
	if o := as("logout"); o.code != fail.OK || !strings.Contains(o.err, "logged out of "+d.URL()) {
		t.Errorf("%+v", o)
	}
	if _, err := os.Stat(files[0]); !os.IsNotExist(err) {
		t.Errorf("the login is still there: %v", err)
	}
	if o := as("logout"); o.code != fail.OK || !strings.Contains(o.err, "there is no login at "+d.URL()) {
		t.Errorf("%+v", o)
	}
}

// A login that fails says at whom it is to do something, and keeps nothing.
func TestLoginFails(t *testing.T) {
	home := atHome(t)
	i := ownca.NewIssuer(t)
	d, _ := launch(t, func(c *config.Config) {
		c.Access.Issuers = servetest.File(t, i.URL+" divvy login\n"+i.URL+" divvy sub=bob reader\n")
	})
	open, _ := launch(t, nil)
	for _, c := range []struct {
		name, server, want, hint string
		polls                    []string
		away                     bool
	}{
		{name: "no issuer", server: open.URL(), want: "Nobody logs in at this daemon", hint: "https://iam.example.org/ CLIENT login"},
		{name: "old daemon", server: fakeServer(t, nil), want: "is too old for logins"},
		{name: "denied", polls: []string{"access_denied"}, want: "the login was denied at " + i.URL, hint: "Nothing was kept. Try again"},
		{name: "expired", polls: []string{"expired_token"}, want: "the code WXYZ-1234 ended at "},
		{name: "no role", want: "you are logged in at " + i.URL + ", but the daemon does not let you in: No valid token: the token of ann has no claim", hint: "Its operator gives roles"},
		{name: "away", away: true, want: "issuer " + i.URL + " does not answer"},
	} {
		i.Away.Store(c.away)
		i.Now(func(l *ownca.Logins) { l.Polls = c.polls })
		if c.server == "" {
			c.server = d.URL()
		}
		if o := divvy(t, "login", "--server", c.server); o.code != fail.Failed || !strings.Contains(o.err, c.want) || !strings.Contains(o.err, c.hint) {
			t.Errorf("%s: %+v", c.name, o)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(home, "divvy/logins/*.json")); len(files) > 0 {
		t.Errorf("kept: %q", files)
	}
}

// The access token counts where the daemon's lines want what it alone says.
func TestLoginByTheAccessToken(t *testing.T) {
	atHome(t)
	i := ownca.NewIssuer(t)
	d, _ := launch(t, func(c *config.Config) {
		c.Access.Issuers = servetest.File(t, i.URL+" divvy login\n"+i.URL+" divvy scope=divvy.read reader\n")
	})
	i.Now(func(l *ownca.Logins) { l.Scope = "divvy.read" })
	if o := divvy(t, "login", "--server", d.URL()); o.code != fail.OK {
		t.Fatalf("%+v", o)
	}
	if o := divvy(t, "whoami", "--server", d.URL()); o.code != fail.OK || !strings.Contains(o.out, "reader") {
		t.Errorf("%+v", o)
	}
}
