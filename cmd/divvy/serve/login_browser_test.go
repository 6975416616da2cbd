//go:build browser

package serve

import (
	"strings"
	"testing"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/servetest"
	"github.com/divvyhq/divvy/internal/browser"
	"github.com/divvyhq/divvy/internal/ownca"
)

// A person who opens a page logs in at the issuer, is back at that page, and logs out.
func TestBrowserLoginAtAnIssuer(t *testing.T) {
	const token = "root-token-0123456789"
	i := ownca.NewIssuer(t)
	i.Claims = map[string]any{"preferred_username": "alice"}
	d := New(servetest.Config(t, func(c *config.Config) {
		c.Access.Issuers = servetest.File(t, i.URL+" divvy login\n"+i.URL+" divvy sub=ann submitter user:{preferred_username}\n")
		c.Access.TokenFile = servetest.File(t, token+"\n")
	}), servetest.Log(t))
	servetest.Start(t, d, client.Config{Stay: true, Token: token})
	tab := browser.Open(t, browser.Window{Others: []string{strings.TrimPrefix(i.URL, "http://")}})
	tab.Go(d.URL() + "/queues")
	tab.Click(`a[href^="/login/start"]`)
	tab.At("/queues")
	if text := tab.Text("main"); !strings.Contains(text, "LOCAL") {
		t.Errorf("the page after the login: %s", text)
	}
	if cookies := browser.Eval[string](tab, "document.cookie"); strings.Contains(cookies, "divvy_session") {
		t.Error("scripts read the session's cookie")
	}
	tab.Click("form.logout button")
	tab.Sees("#token")
	tab.Go(d.URL() + "/queues")
	tab.Sees("#token")
}
