package panda

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/keys"
	"github.com/divvyhq/divvy/internal/ownca"
)

// A certificate that is renewed, and a CA that comes, count for the connections that follow.
func TestTLSFilesChange(t *testing.T) {
	first, second, people := ownca.New(t, "first"), ownca.New(t, "second"), ownca.New(t, "people")
	dir, cas := t.TempDir(), t.TempDir()
	move := func(from, to string) {
		b, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files := keys.TLSFiles{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), ClientCA: cas, Every: 1}
	certify := func(a ownca.Authority) {
		cert, key := a.Issue(t, time.Now().Add(time.Hour), ownca.Part(ownca.CN, "host"+a.Cert.Subject.CommonName))
		move(cert, files.Cert)
		move(key, files.Key)
	}
	certify(first)
	move(second.PEM, filepath.Join(cas, "second.pem"))
	conf, err := files.Config()
	if err != nil {
		t.Fatal(err)
	}
	url := listen(t, guardOf(t, false, ""), conf)
	cert, key := people.Issue(t, time.Now().Add(time.Hour), ownca.Person("Ann")...)
	good := func(a ownca.Authority) bool {
		resp, err := a.Client(t, cert, key).Get(url)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}
	if good(first) {
		t.Error("a certificate of a CA that is not there")
	}
	move(people.PEM, filepath.Join(cas, "people.pem"))
	if !good(first) || good(second) {
		t.Error("the first certificate is not shown")
	}
	certify(second)
	if !good(second) || good(first) {
		t.Error("the second certificate is not shown")
	}
	if err := os.WriteFile(files.Cert, []byte("no"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !good(second) {
		t.Error("a certificate that is none took the place of one")
	}
}
