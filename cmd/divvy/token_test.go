package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// The first token is made without a daemon; the daemon makes, lists and ends the others, and follows within seconds.
func TestTokensOfADaemon(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	made := divvy(t, "token", "create", "root", "--role", "admin", "--database", dsn)
	if made.code != fail.OK || !strings.HasPrefix(made.out, "divvy_") {
		t.Fatalf("%+v", made)
	}
	file := filepath.Join(t.TempDir(), "root.token")
	if err := os.WriteFile(file, []byte(made.out), 0o600); err != nil {
		t.Fatal(err)
	}
	d, nobody := launch(t, func(c *config.Config) { c.Database.DSN, c.Access.RequireToken = dsn, true })
	if _, err := nobody.Shares().Standing(t.Context()); !client.IsCode(err, "unauthorized") {
		t.Errorf("without a token: %v", err)
	}
	root := func(args ...string) outcome {
		return divvy(t, append(args, "--server", d.URL(), "--token-file", file)...)
	}
	o := root("token", "create", "alice", "--role", "submitter", "--user", "alice", "--expires", "90d")
	if o.code != fail.OK {
		t.Fatalf("%+v", o)
	}
	alice, err := client.New(client.Config{URL: d.URL(), Token: strings.TrimSpace(o.out), Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer alice.Close()
	servetest.Eventually(t, 4*time.Second, func() (bool, string) { // by the notification: the period is longer
		_, err := alice.Shares().Standing(t.Context())
		return err == nil, "alice is not let in"
	})
	spec := servetest.Hello(1)
	spec.User = "bob"
	task, err := alice.Tasks().Submit(t.Context(), spec, "")
	if err != nil || task.User != "alice" {
		t.Errorf("a task of %q, %v", task.User, err)
	}
	if _, err := alice.Tokens().List(t.Context(), false); !client.IsCode(err, "forbidden") || !strings.Contains(err.Error(), "admin") {
		t.Errorf("alice lists tokens: %v", err)
	}
	if o := root("token", "list"); o.code != fail.OK || !strings.Contains(o.out, "user alice") || strings.Contains(o.out, strings.TrimSpace(made.out)) {
		t.Errorf("%+v", o)
	}
	if o := root("token", "create", "p", "--role", "pilot", "--queue", "LOKAL"); o.code != fail.Failed || !strings.Contains(o.err, `no queue "LOKAL"`) {
		t.Errorf("%+v", o)
	}
	expired, err := access.NewStore(d.pool).Create(t.Context(), access.New{Name: "eve", Role: access.Reader, ExpiresS: 1e-3, By: "test"})
	if err != nil {
		t.Fatal(err)
	}
	eve, err := client.New(client.Config{URL: d.URL(), Token: expired.Text, Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer eve.Close()
	servetest.Eventually(t, 20*time.Second, func() (bool, string) {
		_, err := eve.Shares().Standing(t.Context())
		return client.IsCode(err, "unauthorized") && strings.Contains(err.Error(), `the token "eve" expired at 20`), fmt.Sprint(err)
	})
	if o := root("token", "revoke", "alice"); o.code != fail.OK || !strings.Contains(o.out, "is revoked") {
		t.Errorf("%+v", o)
	}
	servetest.Eventually(t, 4*time.Second, func() (bool, string) {
		_, err := alice.Shares().Standing(t.Context())
		return client.IsCode(err, "unauthorized"), "alice is let in still"
	})
	if o := root("token", "revoke", "alice", "nobody"); o.code != fail.Failed || !strings.Contains(o.err, "nobody") {
		t.Errorf("%+v", o)
	}
	if o := divvy(t, "token", "list", "--all", "--database", dsn); o.code != fail.OK || !strings.Contains(o.out, "revoked") || !strings.Contains(o.out, "(database)") {
		t.Errorf("%+v", o)
	}
}

// What is wrong with a token is said before anybody is asked, all at once.
func TestBadTokens(t *testing.T) {
	for line, want := range map[string]string{
		"create":                                 "NAME",
		"create a":                               "role is \"\"",
		"create a --role boss":                   "role is \"boss\"",
		"create a --role submitter":              "a submitter has one",
		"create a --role reader --queue CERN":    "pilots only",
		"create a --role share-owner --user bob": "share is \"\"",
		"create a --role reader --expires soon":  "--expires \"soon\"",
		"revoke":                                 "NAME",
	} {
		o := divvy(t, append([]string{"token"}, strings.Fields(line)...)...)
		if o.code != fail.Usage || !strings.Contains(o.err, want) {
			t.Errorf("%s: %+v", line, o)
		}
	}
	if o := divvy(t, "token", "list", "--database", pgtest.Empty(t)); o.code != fail.Failed || !strings.Contains(o.err, "divvy migrate up") {
		t.Errorf("a database without tables: %+v", o)
	}
}

// Beyond this host a daemon that asks for nothing starts only when told so.
func TestOpenBeyondLoopbackIsRefused(t *testing.T) {
	for _, c := range []struct {
		change func(*config.Config)
		ok     bool
	}{
		{func(*config.Config) {}, false}, {func(c *config.Config) { c.Access.Insecure = true }, true}, {func(c *config.Config) { c.Access.RequireToken = true }, true},
		{func(c *config.Config) { c.Access.TokenFile = "x" }, true}, {func(c *config.Config) { c.Listen = "127.0.0.1:0" }, true}, {func(c *config.Config) { c.Listen = ":8470" }, false},
		{func(c *config.Config) { c.Listen = "[::]:8470" }, false},
	} {
		cfg := config.Defaults()
		cfg.Listen = "0.0.0.0:8470"
		c.change(&cfg)
		if err := cfg.Validate(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	o := divvy(t, "serve", "--listen", "0.0.0.0:0")
	if o.code != fail.Usage || !strings.Contains(o.err, "--require-token") || !strings.Contains(o.err, "--insecure") {
		t.Errorf("%+v", o)
	}
}
