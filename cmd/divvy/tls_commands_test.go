package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/ownca"
)

// The command line trusts the CA that it is told, and shows a certificate.
func TestCommandsWithTLS(t *testing.T) {
	t.Parallel()
	ca := ownca.New(t, "ca")
	cert, key := ca.Issue(t, time.Now().Add(time.Hour), ownca.Person("ops")...)
	d, _ := launch(t, func(c *config.Config) {
		c.Access.TLS.Cert, c.Access.TLS.Key, c.Access.TLS.ClientCA, c.Access.TLS.Roles = cert, key, ca.PEM, servetest.File(t, `"/DC=org/DC=grid/CN=ops" operator`)
	})
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--ca", ca.PEM, "--cert", cert, "--cert-key", key}, fail.OK, "LOCAL"},
		{[]string{"--ca", ca.PEM}, fail.Failed, "No valid token"},
		{nil, fail.Failed, "certificate"},
		{[]string{"--ca", "/nonexistent"}, fail.Failed, "CAs of the daemon: stat /nonexistent"},
		{[]string{"--ca", ca.PEM, "--cert", cert}, fail.Failed, "certificate " + cert + " with key " + cert},
	} {
		var out, errs bytes.Buffer
		code := run(append([]string{"queue", "list", "--server", d.URL()}, c.args...), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		if text := out.String() + errs.String(); code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%q: %d %s, want %d %s", c.args, code, text, c.code, c.want)
		}
	}
}
