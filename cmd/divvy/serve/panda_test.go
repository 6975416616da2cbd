package serve

import (
	"bytes"
	"encoding/base64"
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

// knock makes a call as a pilot does, and returns status and body.
func knock(t *testing.T, c *http.Client, url, token, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Origin", "wlcg.pilot")
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

const (
	getJob  = "/server/panda/getJob"
	isAlive = "/server/panda/isAlive"
)

// On loopback, with nothing configured, any pilot is let in beside the native API.
func TestPandaOnLoopback(t *testing.T) {
	t.Parallel()
	d, _ := startDaemon(t, nil)
	for _, token := range []string{"", "mock-token"} {
		if status, body := knock(t, http.DefaultClient, d.URL()+isAlive, token, "{}"); status != http.StatusOK || !strings.Contains(body, `"StatusCode":0`) {
			t.Errorf("token %q: %d %s", token, status, body)
		}
	}
}

// A listener of its own, with TLS, certificates and tokens, and a queue that is for one of them.
func TestPandaApart(t *testing.T) {
	t.Parallel()
	ca := ownca.New(t, "grid")
	cert, key := ca.Issue(t, time.Now().Add(time.Hour), ownca.Person("Robot: pilots")...)
	d, _ := startDaemon(t, func(c *config.Config) {
		tls := &c.Access.TLS
		c.Panda.Listen, tls.Cert, tls.Key, tls.ClientCA = "127.0.0.1:0", cert, key, ca.PEM
		tls.Roles = servetest.File(t, `"/DC=org/DC=grid/CN=Robot: (\w+)" pilot user:$1 origin:wlcg.pilot`)
		c.Access.TokenFile = servetest.File(t, "cern-token-0123456789 cern pilot")
		c.Site = servetest.File(t, "shares: [{name: A}]\nqueues: [{name: OPEN}, {name: ROBOTS, pilots: [user:pilots]}]\n")
	})
	if !strings.HasPrefix(d.PandaURL(), "https://127.0.0.1:") {
		t.Fatal(d.PandaURL())
	}
	shown, plain := ca.Client(t, cert, key), ca.Client(t, "", "")
	const nobody = "the site file lists its pilots"
	for _, c := range []struct {
		client      *http.Client
		path, token string
		queue       string
		status      int
		want        string
	}{
		{shown, isAlive, "", "", 200, `"StatusCode":0`},
		{plain, isAlive, "cern-token-0123456789", "", 200, `"StatusCode":0`},
		{plain, isAlive, "mock-token", "", 200, `"StatusCode":60,"errorDialog":"the token is not known here"`},
		{plain, isAlive, "", "", 200, `"StatusCode":60,"errorDialog":"no credential: `},
		{plain, getJob, "cern-token-0123456789", "ROBOTS", 200, `"StatusCode":60,"errorDialog":"queue ROBOTS is not for token cern, origin wlcg.pilot: ` + nobody},
	} {
		if status, body := knock(t, c.client, d.PandaURL()+c.path, c.token, `{"siteName":"`+c.queue+`"}`); status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s with token %q: %d %s", c.path, c.token, status, body)
		}
	}
	if status, _ := knock(t, plain, d.URL()+isAlive, "", "{}"); status != http.StatusNotFound {
		t.Errorf("PanDA's calls are beside the native ones too: %d", status)
	}
	if resp, err := plain.Get(d.PandaURL() + "/v1/queues"); err != nil || resp.StatusCode != http.StatusNotFound {
		t.Errorf("the native API is on PanDA's listener: %v %v", resp, err)
	}
	if resp, err := shown.Get(d.URL() + "/v1/status"); err != nil || resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a line with an origin is good for the native API: %v %v", resp, err)
	}
	if resp, err := plain.Get(d.PandaURL() + "/trf/runShell"); err != nil || resp.StatusCode != http.StatusOK {
		t.Errorf("runShell needs a credential: %v %v", resp, err)
	}
}

// Being open to other hosts is said aloud, and only then; so is a lease that ends before a pilot's last word.
func TestPandaOpenWarning(t *testing.T) {
	for _, c := range []struct {
		change func(*config.Config)
		want   string
	}{
		{func(c *config.Config) { c.Panda.Listen = "127.0.0.1:0" }, ""},
		{func(c *config.Config) { c.Panda.Listen, c.Panda.Anonymous = "127.0.0.1:0", true }, ""},
		{func(c *config.Config) { c.Panda.Listen, c.Panda.Anonymous = "0.0.0.0:0", true }, "panda_anonymous\" panda_listen=0.0.0.0:0"},
		{func(c *config.Config) { c.Listen, c.Access.Insecure = "0.0.0.0:0", true }, "insecure, and no credentials\" listen=0.0.0.0:0"},
		{func(c *config.Config) {
			c.Listen, c.Access.Insecure, c.Access.TokenFile = "0.0.0.0:0", true, servetest.File(t, "cern-token-0123456789")
		}, ""},
		{func(c *config.Config) {
			c.Panda.Listen, c.Access.Issuers = "0.0.0.0:0", servetest.File(t, "https://iam.example.org/ divvy sub=ann pilot")
		}, ""},
		{func(c *config.Config) { c.Panda.Lease = 179 * time.Second }, "such jobs count as lost\" panda_lease=2m59s least=3m0s"},
		{func(c *config.Config) { c.Panda.Lease = 3 * time.Minute }, ""},
	} {
		cfg := config.Defaults()
		cfg.Listen = "127.0.0.1:0"
		c.change(&cfg)
		if err := cfg.Validate(); err != nil {
			t.Error(err)
		}
		var log bytes.Buffer
		d := New(cfg, slog.New(slog.NewTextHandler(&log, nil)))
		if _, err := d.pandaConfig(); err != nil {
			t.Error(err)
		}
		if c.want == "" && log.Len() > 0 || !strings.Contains(log.String(), c.want) {
			t.Errorf("logged %q, want %q", log.String(), c.want)
		}
	}
}

// What is wrong with the files is said at the start, with the key that names them.
func TestPandaFiles(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*config.Config){
		"panda_transforms: stat /nonexistent": func(c *config.Config) { c.Panda.Transforms = "/nonexistent" },
		"is not a folder":                     func(c *config.Config) { c.Panda.Transforms = servetest.File(t, "") },
		"panda_listen: listen tcp":            func(c *config.Config) { c.Panda.Listen = "192.0.2.1:1" },
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

// What lets somebody in is in no log, at any level, whether it is good or not.
func TestPandaLogsNoSecrets(t *testing.T) {
	t.Parallel()
	cfg := servetest.Config(t, nil)
	cfg.Access.TokenFile, cfg.Access.Issuers = servetest.File(t, "cern-token-0123456789 cern operator"), servetest.File(t, "http://127.0.0.1:1/ divvy sub=ann pilot")
	var log servetest.Said
	d := New(cfg, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	web := "eyJhbGciOiJSUzI1NiJ9." + base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"http://127.0.0.1:1","sub":"ann"}`)) + ".c2lnbmF0dXJl"
	tokens := []string{"cern-token-0123456789", "cern-token-9876543210", web}
	for _, token := range tokens {
		for _, path := range []string{getJob, isAlive, "/api/v1/pilot/acquire_jobs", "/api/v1/system/get_attributes"} {
			if _, body := knock(t, http.DefaultClient, d.URL()+path, token, `{"siteName":"NOWHERE"}`); strings.Contains(body, token) {
				t.Errorf("%s says the token back: %s", path, body)
			}
		}
	}
	if err := d.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, token := range tokens {
		if strings.Contains(log.String(), token) {
			t.Errorf("%s is in the log", token)
		}
	}
	if want := "an issuer of tokens does not answer"; strings.Count(log.String(), want) != 1 {
		t.Errorf("want %q once in %s", want, &log)
	}
}
