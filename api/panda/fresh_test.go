package panda

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What is in the files counts, until they make no sense; then what was in them.
func TestFresh(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var log bytes.Buffer
	reads := 0
	f := &Fresh[string]{Name: "a test", Files: func() []string { return []string{file} }, Log: slog.New(slog.NewTextHandler(&log, nil)), Every: 1, Read: func() (string, error) {
		reads++
		b, err := os.ReadFile(file)
		if err == nil && len(b) == 0 {
			err = errors.New("empty")
		}
		return string(b), err
	}}
	if err := f.First(); err == nil {
		t.Fatal("a file that is not there")
	}
	write("one")
	if err := f.First(); err != nil || f.Get() != "one" || reads != 2 {
		t.Fatalf("%v, %q, %d reads", err, f.Get(), reads)
	}
	write("three")
	if got := f.Get(); got != "three" || f.Get() != "three" || reads != 3 {
		t.Errorf("%q, %d reads", got, reads)
	}
	write("")
	if got := f.Get(); got != "three" || f.Get() != "three" || reads != 4 || strings.Count(log.String(), "stays in force\" error=empty of=\"a test\"") != 1 {
		t.Errorf("%q, %d reads, logged %s", got, reads, &log)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if got := f.Get(); got != "three" {
		t.Errorf("%q without the file", got)
	}
	write("four")
	if got := f.Get(); got != "four" {
		t.Errorf("%q", got)
	}
	f.Every = time.Hour
	write("eleven")
	if got := f.Get(); got != "four" {
		t.Errorf("%q before its time", got)
	}
}

// A certificate that is renewed, and a CA that comes, count for the connections that follow.
func TestTLSFilesChange(t *testing.T) {
	first, second, people := newAuthority(t, "first"), newAuthority(t, "second"), newAuthority(t, "people")
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
	files := TLSFiles{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), ClientCA: cas}
	certify := func(a authority) {
		cert, key := a.issue(t, time.Now().Add(time.Hour), part(oidCN, "host"+a.cert.Subject.CommonName))
		move(cert, files.Cert)
		move(key, files.Key)
	}
	certify(first)
	move(second.pem, filepath.Join(cas, "second.pem"))
	conf, err := files.config(1)
	if err != nil {
		t.Fatal(err)
	}
	url := listen(t, accessOf(t, false), conf)
	cert, key := people.issue(t, time.Now().Add(time.Hour), person("Ann")...)
	good := func(a authority) bool {
		resp, err := a.pilot(t, cert, key).Get(url)
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}
	if good(first) {
		t.Error("a certificate of a CA that is not there")
	}
	move(people.pem, filepath.Join(cas, "people.pem"))
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
