package panda

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/keys"
	"github.com/divvyhq/divvy/internal/ownca"
)

var quiet = log.New(io.Discard, "", 0)

func TestCertificates(t *testing.T) {
	hosts, people, foreign := ownca.New(t, "hosts"), ownca.New(t, "people"), ownca.New(t, "foreign")
	hour := time.Now().Add(time.Hour)
	cert, key := hosts.Issue(t, hour, ownca.Part(ownca.CN, "host"))
	conf, err := keys.TLSFiles{Cert: cert, Key: key, ClientCA: people.PEM}.Config()
	if err != nil {
		t.Fatal(err)
	}
	url := listen(t, guardOf(t, false, ""), conf)
	issued := func(a ownca.Authority, until time.Time, cn string) *http.Client {
		cert, key := a.Issue(t, until, ownca.Person(cn)...)
		return hosts.Client(t, cert, key)
	}
	good := knock{authorization: "Bearer cern-token-0123456789"}
	for _, c := range []struct {
		name   string
		client *http.Client
		knock
		status int
		want   string
	}{
		{"certificate", issued(people, hour, "Ann"), knock{path: "/api/v1/task/submit"}, 200, "caller /DC=org/DC=grid/CN=Ann (submitter of user Ann) /DC=org/DC=grid/CN=Ann"},
		{"certificate and a mock token", issued(people, hour, "Robot: atlas pilots"), knock{authorization: "Bearer mock", origin: "atlas.pilot"}, 200,
			"caller atlas-robot (pilot) /DC=org/DC=grid/CN=Robot: atlas pilots atlas.pilot"},
		{"origin of another", issued(people, hour, "Robot: atlas pilots"), knock{origin: "cms.pilot"}, 200,
			`{"StatusCode":60,"errorDialog":"atlas-robot may not speak for cms.pilot, only for atlas.pilot"}`},
		{"no line fits", issued(people, hour, "Annette"), knock{}, 200, `{"StatusCode":60,"errorDialog":"no line of tls_roles fits the certificate /DC=org/DC=grid/CN=Annette"}`},
		{"a name that looks like two parts", issued(people, hour, "x/DC=org/CN=Ann"), knock{}, 200,
			`{"StatusCode":60,"errorDialog":"no line of tls_roles fits the certificate /DC=org/DC=grid/CN=x\\x2FDC=org\\x2FCN=Ann"}`},
		{"no line fits, good token", issued(people, hour, "Annette"), good, 200, "caller cern (operator)"},
		{"no certificate, good token", hosts.Client(t, "", ""), good, 200, "caller cern (operator)"},
		{"no certificate", hosts.Client(t, "", ""), knock{path: "/api/v1/pilot/update_job"}, 403,
			`{"success":false,"message":"no credential: send the header Authorization: Bearer <token>, or a client certificate","data":null}`},
	} {
		if status, body := c.do(t, c.client, url); status != c.status || body != c.want {
			t.Errorf("%s: %d %s", c.name, status, body)
		}
	}
	for name, client := range map[string]*http.Client{
		"of a CA that is not trusted": issued(foreign, hour, "Ann"),
		"that has run out":            issued(people, time.Now().Add(-time.Hour), "Ann"),
	} {
		if resp, err := client.Post(url+"/server/panda/isAlive", "application/json", nil); err == nil || !refusedByTLS(err) {
			t.Errorf("a certificate %s: %v %v", name, resp, err)
		}
	}
}

// Pilots and Harvesters that show a certificate or a proxy send no Origin: each speaks for the first origin without a glob of its line,
// so that a worker's proxy takes jobs and steers nothing.
func TestCertificatesWithoutOrigin(t *testing.T) {
	hosts, people := ownca.New(t, "hosts"), ownca.New(t, "people")
	cert, key := hosts.Issue(t, time.Now().Add(time.Hour), ownca.Part(ownca.CN, "host"))
	conf, err := keys.TLSFiles{Cert: cert, Key: key, ClientCA: people.PEM}.Config()
	if err != nil {
		t.Fatal(err)
	}
	url := listen(t, guardOf(t, false, ""), conf)
	shows := func(h holder) *http.Client {
		shown := tls.Certificate{PrivateKey: h.key}
		for _, one := range h.chain {
			shown.Certificate = append(shown.Certificate, one.Raw)
		}
		return hosts.ClientWith(t, &shown)
	}
	robot := holderOf(t, people, "Robot: atlas pilots")
	const who, dn = "caller atlas-robot (", ") /DC=org/DC=grid/CN=Robot: atlas pilots atlas."
	for name, c := range map[string]struct {
		holder
		knock
		want string
	}{
		"certificate":          {robot, knock{}, who + "pilot" + dn + "pilot"},
		"proxy":                {robot.proxy(t, nil), knock{}, who + "pilot" + dn + "pilot"},
		"proxy of the new API": {robot.proxy(t, nil), knock{path: "/api/v1/pilot/acquire_jobs"}, who + "pilot" + dn + "pilot"},
		"Harvester":            {robot, knock{path: "/api/v1/harvester/heartbeat"}, who + "pilot" + dn + "pilot"},
		"what it says counts":  {robot, knock{path: "/api/v1/task/kill", origin: "atlas.production"}, who + "operator" + dn + "production"},
		"steering":             {robot.proxy(t, nil), knock{path: "/api/v1/task/kill"}, "to steer needs the role submitter or operator or admin; this is atlas-robot (pilot)"},
		"globs alone":          {holderOf(t, people, "Globs"), knock{}, "globs needs an origin, one of atlas.*, c?s: send the header Origin"},
	} {
		if _, body := c.do(t, shows(c.holder), url); !strings.Contains(body, c.want) {
			t.Errorf("%s: %s, want %s", name, body, c.want)
		}
	}
}

// refusedByTLS says whether the handshake was refused. With TLS 1.3 a client may be sending its request by then: it hears of it by the
// alert, or by a connection that is gone: at the other end, or here, where whoever read the alert has closed it under the one who sends.
func refusedByTLS(err error) bool {
	return strings.Contains(err.Error(), "tls: ") || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF)
}

// Pilots speak HTTP/1.1; nothing else is offered to a client that would like more.
func TestHTTP11(t *testing.T) {
	ca := ownca.New(t, "ca")
	cert, key := ca.Issue(t, time.Now().Add(time.Hour), ownca.Part(ownca.CN, "host"))
	conf, err := keys.TLSFiles{Cert: cert, Key: key}.Config()
	if err != nil {
		t.Fatal(err)
	}
	resp, err := ca.Client(t, "", "").Get(listen(t, guardOf(t, true, ""), conf))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if who, err := io.ReadAll(resp.Body); err != nil || len(who) == 0 || resp.ProtoMajor != 1 || resp.TLS.NegotiatedProtocol != "http/1.1" {
		t.Errorf("%v, %s, %q", err, resp.Proto, resp.TLS.NegotiatedProtocol)
	}
}

func TestTLSFiles(t *testing.T) {
	ca := ownca.New(t, "ca")
	cert, key := ca.Issue(t, time.Now().Add(time.Hour), ownca.Part(ownca.CN, "host"))
	empty := t.TempDir()
	for _, c := range []struct {
		files keys.TLSFiles
		want  string
	}{
		{keys.TLSFiles{Cert: cert, Key: key}, ""},
		{keys.TLSFiles{Cert: cert, Key: key, ClientCA: ca.PEM}, ""},
		{keys.TLSFiles{Cert: cert, Key: key, ClientCA: filepath.Dir(ca.PEM)}, ""},
		{keys.TLSFiles{Cert: cert, Key: ca.PEM}, "certificate " + cert + " with key " + ca.PEM + ": "},
		{keys.TLSFiles{Cert: "none.pem", Key: key}, "none.pem"},
		{keys.TLSFiles{Cert: cert, Key: key, ClientCA: empty}, "client CAs: " + empty + ": no certificate of a CA in it (PEM)"},
		{keys.TLSFiles{Cert: cert, Key: key, ClientCA: key}, "client CAs: " + key + ": no certificate of a CA in it (PEM)"},
		{keys.TLSFiles{Cert: cert, Key: key, ClientCA: "none"}, "none"},
	} {
		_, err := c.files.Config()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.files, err, c.want)
		}
	}
}
