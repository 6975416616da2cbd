package serve

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/internal/ownca"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// asked is a request of a test to a daemon, and what its answer has to have.
type asked struct {
	client             *http.Client
	method, path, body string
	token              string
	status             int
	want               string
}

func (a asked) of(t *testing.T, url string) {
	t.Helper()
	r, err := http.NewRequest(a.method, url+a.path, strings.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if a.token != "" {
		r.Header.Set("Authorization", "Bearer "+a.token)
	}
	resp, err := a.client.Do(r)
	if err != nil {
		t.Errorf("%s %s: %v", a.method, a.path, err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != a.status || !strings.Contains(string(body), a.want) {
		t.Errorf("%s %s: %d %s, want %d %s", a.method, a.path, resp.StatusCode, body, a.status, a.want)
	}
}

// The native API with TLS: tokens, certificates and JSON web tokens are who they are said to be, on the pilots' routes and the others.
func TestTLSAndCredentialsOfOthers(t *testing.T) {
	t.Parallel()
	hosts, people, foreign := ownca.New(t, "hosts"), ownca.New(t, "people"), ownca.New(t, "foreign")
	hour := time.Now().Add(time.Hour)
	cert, key := hosts.Issue(t, hour, ownca.Person("host")...)
	issuer := ownca.NewIssuer(t)
	const fileToken = "token-of-the-file-0123456789"
	d, _ := startDaemon(t, func(c *config.Config) {
		c.Access.TLS.Cert, c.Access.TLS.Key, c.Access.TLS.ClientCA, c.Access.TokenFile = cert, key, people.PEM, servetest.File(t, fileToken)
		c.Access.TLS.Roles = servetest.File(t, `"/DC=org/DC=grid/CN=pilot" pilot queue:LOCAL`+"\n"+`"/DC=org/DC=grid/CN=ops" operator`)
		c.Access.Issuers = servetest.File(t, issuer.URL+" divvy groups=/atlas reader")
	})
	if !strings.HasPrefix(d.URL(), "https://127.0.0.1:") || !strings.HasPrefix(advertised(d.cfg, d.Addr()), "tls://127.0.0.1:") {
		t.Fatal(d.URL(), advertised(d.cfg, d.Addr()))
	}
	shows := func(a ownca.Authority, cn string) *http.Client {
		cert, key := a.Issue(t, hour, ownca.Person(cn)...)
		return hosts.Client(t, cert, key)
	}
	plain, pilot, ops, stranger := hosts.Client(t, "", ""), shows(people, "pilot"), shows(people, "ops"), shows(people, "stranger")
	const pull, status, queues = "/v1/pulls", "/v1/status", "/v1/queues"
	const local, elsewhere = `{"queue":"LOCAL","pilot":"p"}`, `{"queue":"OTHER","pilot":"p"}`
	for _, c := range []asked{
		{plain, "GET", status, "", "", 401, `"code":"unauthorized"`},
		{plain, "GET", status, "", fileToken, 200, "version"},
		{pilot, "POST", pull, elsewhere, "", 403, `queue \"OTHER\" is not one at which /DC=org/DC=grid/CN=pilot (pilot of queues LOCAL) may pull`},
		{pilot, "GET", status, "", "", 200, "version"},
		{pilot, "GET", queues, "", "", 403, "this is /DC=org/DC=grid/CN=pilot (pilot of queues LOCAL)"},
		{pilot, "GET", queues, "", fileToken, 200, "items"}, // the token says more
		{pilot, "GET", queues, "", "unknown-token-0123456789", 403, "CN=pilot"},
		{ops, "GET", queues, "", "", 200, "items"},
		{stranger, "POST", pull, local, "", 401, "no line of tls_roles fits the certificate /DC=org/DC=grid/CN=stranger"},
		{plain, "GET", queues, "", issuer.Token(nil), 200, "items"},
		{plain, "POST", pull, local, issuer.Token(nil), 403, "this is ann (reader)"},
		{plain, "GET", queues, "", issuer.Token(map[string]any{"aud": "x"}), 401, "the token of ann is not for this server"},
		{plain, "GET", queues, "", issuer.Token(map[string]any{"exp": time.Now().Add(-time.Hour).Unix()}), 401, "the token has run out"},
	} {
		c.of(t, d.URL())
	}
	if resp, err := pilot.Post(d.URL()+pull, "application/json", strings.NewReader(local)); err != nil || resp.StatusCode != 200 && resp.StatusCode != 204 {
		t.Errorf("a pull at its queue: %v %v", resp, err)
	}
	if resp, err := shows(foreign, "ops").Get(d.URL() + status); err == nil {
		t.Errorf("a certificate of a CA that is not trusted: %s", resp.Status)
	}
	asked{http.DefaultClient, "GET", "/healthz", "", "", 400, "This port speaks TLS"}.of(t, strings.Replace(d.URL(), "https", "http", 1))
}

// What is wrong with the files is said at the start, with the key, the file and the line.
func TestFilesOfCredentials(t *testing.T) {
	t.Parallel()
	ca := ownca.New(t, "ca")
	cert, key := ca.Issue(t, time.Now().Add(time.Hour), ownca.Person("host")...)
	for want, change := range map[string]func(*config.Config){
		"listen: certificate ":          func(c *config.Config) { c.Access.TLS.Cert, c.Access.TLS.Key = cert, cert },
		"tls_ca: stat /nonexistent":     func(c *config.Config) { c.Access.TLS.CA = "/nonexistent" },
		":2: role is \"boss\"":          func(c *config.Config) { c.Access.TLS.Roles = servetest.File(t, "# ours\n\"/CN=x\" boss") },
		"token_file: open /nonexistent": func(c *config.Config) { c.Access.TokenFile = "/nonexistent" },
		"token_file: ":                  func(c *config.Config) { c.Access.TokenFile = servetest.File(t, "short") },
		"tls_roles: open /nonexistent":  func(c *config.Config) { c.Access.TLS.Roles = "/nonexistent" },
		":1: expected an issuer":        func(c *config.Config) { c.Access.Issuers = servetest.File(t, "https://iam.example.org/ divvy") },
		"listen: client CAs: ":          func(c *config.Config) { c.Access.TLS.Cert, c.Access.TLS.Key, c.Access.TLS.ClientCA = cert, key, key },
	} {
		cfg := config.Defaults()
		cfg.Database.DSN, cfg.Listen = pgtest.DSN(t), "127.0.0.1:0"
		change(&cfg)
		err := New(cfg, slog.New(slog.DiscardHandler)).Start(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Every listener that other hosts reach is refused without a credential, unless it is said aloud; profiles are refused always.
func TestNothingOpenByDefault(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0"} {
		for name, c := range map[string]struct {
			change func(*config.Config)
			ok     bool
		}{
			"native":                         {func(c *config.Config) { c.Listen = addr }, false},
			"native, TLS":                    {func(c *config.Config) { c.Listen, c.Access.TLS.Cert, c.Access.TLS.Key = addr, "c", "k" }, false},
			"native, told":                   {func(c *config.Config) { c.Listen, c.Access.Insecure = addr, true }, true},
			"native, tokens":                 {func(c *config.Config) { c.Listen, c.Access.RequireToken = addr, true }, true},
			"native, issuers":                {func(c *config.Config) { c.Listen, c.Access.Issuers = addr, "f" }, true},
			"PanDA":                          {func(c *config.Config) { c.Panda.Listen = addr }, false},
			"PanDA, told for the native one": {func(c *config.Config) { c.Panda.Listen, c.Access.Insecure = addr, true }, false},
			"PanDA, told":                    {func(c *config.Config) { c.Panda.Listen, c.Panda.Anonymous = addr, true }, true},
			"PanDA, tokens":                  {func(c *config.Config) { c.Panda.Listen, c.Access.TokenFile = addr, "f" }, true},
			"profiles":                       {func(c *config.Config) { c.Pprof = addr }, false},
			"profiles, told":                 {func(c *config.Config) { c.Pprof, c.Access.Insecure = addr, true }, false},
		} {
			cfg := config.Defaults()
			c.change(&cfg)
			if err := cfg.Validate(); (err == nil) != c.ok {
				t.Errorf("%s at %s: %v", name, addr, err)
			} else if err != nil && !strings.Contains(err.Error(), addr) {
				t.Errorf("%s: %v does not name the address", name, err)
			}
		}
	}
}
