package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// The first token is made without a daemon; the daemon makes, lists and ends the others, and follows within seconds.
func TestTokensOfADaemon(t *testing.T) {
	dsn := pgtest.DSN(t)
	made := divvy(t, "token", "create", "root", "--role", "admin", "--database", dsn)
	if made.code != exitOK || !strings.HasPrefix(made.out, "divvy_") {
		t.Fatalf("%+v", made)
	}
	file := filepath.Join(t.TempDir(), "root.token")
	if err := os.WriteFile(file, []byte(made.out), 0o600); err != nil {
		t.Fatal(err)
	}
	d, nobody := startDaemon(t, func(c *config) { c.Database, c.RequireToken = dsn, true })
	if _, err := nobody.Shares(t.Context()); !client.IsCode(err, "unauthorized") {
		t.Errorf("without a token: %v", err)
	}
	root := func(args ...string) outcome {
		return divvy(t, append(args, "--server", d.URL(), "--token-file", file)...)
	}
	o := root("token", "create", "alice", "--role", "submitter", "--user", "alice", "--expires", "90d")
	if o.code != exitOK {
		t.Fatalf("%+v", o)
	}
	alice, err := client.New(client.Config{URL: d.URL(), Token: strings.TrimSpace(o.out), Patience: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer alice.Close()
	eventually(t, 4*time.Second, func() (bool, string) { // by the notification: the period is longer
		_, err := alice.Shares(t.Context())
		return err == nil, "alice is not let in"
	})
	spec := hello(1)
	spec.User = "bob"
	task, err := alice.Submit(t.Context(), spec, "")
	if err != nil || task.User != "alice" {
		t.Errorf("a task of %q, %v", task.User, err)
	}
	if _, err := alice.Tokens(t.Context(), false); !client.IsCode(err, "forbidden") || !strings.Contains(err.Error(), "admin") {
		t.Errorf("alice lists tokens: %v", err)
	}
	if o := root("token", "list"); o.code != exitOK || !strings.Contains(o.out, "user alice") || strings.Contains(o.out, strings.TrimSpace(made.out)) {
		t.Errorf("%+v", o)
	}
	if o := root("token", "revoke", "alice"); o.code != exitOK || !strings.Contains(o.out, "is revoked") {
		t.Errorf("%+v", o)
	}
	eventually(t, 4*time.Second, func() (bool, string) {
		_, err := alice.Shares(t.Context())
		return client.IsCode(err, "unauthorized"), "alice is let in still"
	})
	if o := root("token", "revoke", "alice", "nobody"); o.code != exitFailed || !strings.Contains(o.err, "nobody") {
		t.Errorf("%+v", o)
	}
	if o := divvy(t, "token", "list", "--all", "--database", dsn); o.code != exitOK || !strings.Contains(o.out, "revoked") || !strings.Contains(o.out, "(database)") {
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
		if o.code != exitUsage || !strings.Contains(o.err, want) {
			t.Errorf("%s: %+v", line, o)
		}
	}
	if o := divvy(t, "token", "list", "--database", pgtest.Empty(t)); o.code != exitFailed || !strings.Contains(o.err, "divvy migrate up") {
		t.Errorf("a database without tables: %+v", o)
	}
}

// Beyond this host a daemon that asks for nothing starts only when told so.
func TestOpenBeyondLoopbackIsRefused(t *testing.T) {
	for _, c := range []struct {
		change func(*config)
		ok     bool
	}{
		{func(*config) {}, false}, {func(c *config) { c.Insecure = true }, true}, {func(c *config) { c.RequireToken = true }, true},
		{func(c *config) { c.TokenFile = "x" }, true}, {func(c *config) { c.Listen = "127.0.0.1:0" }, true}, {func(c *config) { c.Listen = ":8470" }, false},
		{func(c *config) { c.Listen = "[::]:8470" }, false},
	} {
		cfg := defaults()
		cfg.Listen = "0.0.0.0:8470"
		c.change(&cfg)
		if err := cfg.validate(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	o := divvy(t, "serve", "--listen", "0.0.0.0:0")
	if o.code != exitUsage || !strings.Contains(o.err, "--require-token") || !strings.Contains(o.err, "--insecure") {
		t.Errorf("%+v", o)
	}
}
