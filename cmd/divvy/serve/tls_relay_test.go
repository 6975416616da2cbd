package serve

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/internal/keys"
	"github.com/divvyhq/divvy/internal/ownca"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/internal/relay"
)

// Daemons whose certificates name no address, as in pods, reach each other over TLS: the name that their certificates are
// expected to be for is configured. Who a pilot is was seen by the daemon that it came to. One that expects another name, or
// that of the address, or another CA, does not call.
func TestHandOnOverTLS(t *testing.T) {
	t.Parallel()
	ca, people := ownca.New(t, "hosts"), ownca.New(t, "people")
	dsn, token := pgtest.DSN(t), "token-of-the-file-0123456789"
	roles := servetest.File(t, `"/DC=org/DC=grid/CN=pilot" pilot queue:LOCAL`)
	start := func(change func(*config.Config)) *Daemon {
		d, _ := startDaemon(t, func(c *config.Config) {
			c.Database.DSN, c.Access.TLS.CA, c.Access.TLS.PeerName, c.Access.TokenFile = dsn, ca.PEM, "divvy.example", servetest.File(t, token)
			c.Access.TLS.Cert, c.Access.TLS.Key = ca.IssueNames(t, "divvy.example", "divvy")
			c.Access.TLS.ClientCA, c.Access.TLS.Roles = people.PEM, roles
			if change != nil {
				change(c)
			}
		})
		return d
	}
	first, other := start(nil), start(nil)
	if !follows(other, first) {
		t.Fatal("the second daemon does not follow the first")
	}

	cert, key := people.Issue(t, time.Now().Add(time.Hour), ownca.Person("pilot")...)
	calls := func(token string, files keys.ClientFiles) *client.Client {
		files.CA = ca.PEM
		trust, err := files.Config()
		if err != nil {
			t.Fatal(err)
		}
		trust.ServerName = "divvy"
		cl, err := client.New(client.Config{URL: other.URL(), Token: token, TLS: trust})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(cl.Close)
		return cl
	}
	pilot := calls("", keys.ClientFiles{Cert: cert, Key: key})
	if _, err := calls(token, keys.ClientFiles{}).Tasks().Submit(t.Context(), servetest.Hello(2), ""); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		got, err := pilot.Pull(t.Context(), wire.PullRequest{Queue: "LOCAL", Pilot: "p", RequestID: fmt.Sprint(i), WaitS: 20})
		if err != nil {
			t.Fatal(err)
		}
		if by, want := decider(t, other, got.Leases[0].Job), first.company.member.Self().ID; by != want {
			t.Errorf("daemon %d decided, %d leads", by, want)
		}
		end, err := pilot.Finish(t.Context(), wire.FinishRequest{Pilot: "p", Results: []wire.Result{{Lease: got.Leases[0].Lease, Outcome: "finished"}}})
		if err != nil || end.Verdicts[0].Verdict != "recorded" {
			t.Errorf("%+v, %v", end, err)
		}
	}
	if _, err := pilot.Pull(t.Context(), wire.PullRequest{Queue: "OTHER", Pilot: "p"}); !client.IsCode(err, "forbidden") {
		t.Errorf("a queue that is not the pilot's: %v", err)
	}

	for name, change := range map[string]func(*config.Config){
		"the name of the address": func(c *config.Config) { c.Access.TLS.PeerName = "" },
		"another name":            func(c *config.Config) { c.Access.TLS.PeerName = "divvy.example.org" },
		"another CA":              func(c *config.Config) { c.Access.TLS.CA = people.PEM },
	} {
		var c config.Config
		c.Access.TLS.CA, c.Access.TLS.PeerName = ca.PEM, "divvy.example"
		change(&c)
		trust, err := c.Access.TLS.Trust()
		if err != nil {
			t.Fatal(err)
		}
		self := other.company.member.Self()
		conn, err := relay.Dial(t.Context(), relay.Callee{Address: first.company.member.Self().Address, Secret: first.company.member.Self().Secret, Trust: trust}, relay.Caller{ID: self.ID, Secret: self.Secret})
		if err == nil {
			conn.Close()
			t.Errorf("%s: it believes the certificate", name)
		}
	}
}

// The CAs of other daemons are renewed while this one runs.
func TestTrustFollowsItsFile(t *testing.T) {
	old, renewed := ownca.New(t, "old"), ownca.New(t, "renewed")
	trust := config.TLS{CA: old.PEM}.FreshTrust()
	trust.Every = 1
	if err := trust.First(); err != nil {
		t.Fatal(err)
	}
	before := trust.Get()
	text, err := os.ReadFile(renewed.PEM)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old.PEM, append(text, '\n'), 0o600); err != nil { // of another length, should the clock of the file system be coarse
		t.Fatal(err)
	}
	if after := trust.Get(); after.RootCAs.Equal(before.RootCAs) {
		t.Error("what was read at first is still believed")
	}
}
