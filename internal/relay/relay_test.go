package relay

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// self is the caller, and members the only daemon that the callee's database has.
var self = Caller{ID: 7, Secret: "mine"}

func members(_ context.Context, id int64) (string, error) {
	if id == self.ID {
		return self.Secret, nil
	}
	return "", nil
}

// serve starts a callee and connects to it.
func serve(t *testing.T, h Handler) (*Conn, func()) {
	t.Helper()
	done := make(chan struct{})
	var once sync.Once
	leave := func() { once.Do(func() { close(done) }) }
	var mux http.ServeMux
	mux.Handle(Path, &Server{Secret: "s3cret", SecretOf: members, Handle: h, Done: done})
	srv := httptest.NewServer(&mux)
	t.Cleanup(srv.Close)
	t.Cleanup(leave)
	c, err := Dial(t.Context(), Callee{Address: srv.Listener.Addr().String(), Secret: "s3cret"}, self)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, leave
}

func echo(_ context.Context, path string, body []byte) Reply {
	return Reply{Status: 200, Body: append([]byte(path+"\n"), body...)}
}

// Hundreds of requests at the same time get each its own answer, whatever their size.
func TestCalls(t *testing.T) {
	c, _ := serve(t, echo)
	var all sync.WaitGroup
	for i := range 300 {
		all.Go(func() {
			body := bytes.Repeat([]byte{byte(i)}, i*i)
			path := fmt.Sprint("/", i)
			r, err := c.Call(t.Context(), path, body)
			if err != nil || r.Status != 200 || !bytes.Equal(r.Body, append([]byte(path+"\n"), body...)) {
				t.Errorf("call %d: %v, status %d, %d bytes", i, err, r.Status, len(r.Body))
			}
		})
	}
	all.Wait()
}

// Who does not wait any more ends the work for it; the others go on.
func TestDrop(t *testing.T) {
	began, ended := make(chan struct{}), make(chan error, 1)
	c, _ := serve(t, func(ctx context.Context, path string, body []byte) Reply {
		if path == "/slow" {
			close(began)
			<-ctx.Done()
			ended <- ctx.Err()
		}
		return echo(ctx, path, body)
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	if _, err := c.Call(ctx, "/slow", nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if r, err := c.Call(t.Context(), "/other", nil); err != nil || string(r.Body) != "/other\n" {
		t.Error(r, err)
	}
}

// When the callee leaves, who waits is told that the fate of the request is unknown, and so is who comes later.
func TestBroken(t *testing.T) {
	began := make(chan struct{})
	c, leave := serve(t, func(ctx context.Context, _ string, _ []byte) Reply {
		close(began)
		<-ctx.Done()
		return Reply{}
	})
	go func() { <-began; leave() }()
	if _, err := c.Call(t.Context(), "/", nil); !errors.Is(err, ErrBroken) {
		t.Error(err)
	}
	<-c.Broken()
	if _, err := c.Call(t.Context(), "/", nil); !errors.Is(err, ErrBroken) {
		t.Error(err)
	}
}

// A callee that is frozen counts as gone, however long its connection stays.
func TestSilence(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	frozen := make(chan net.Conn, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		_, _ = conn.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: " + Protocol + "\r\n\r\n"))
		frozen <- conn
	}()
	c, err := Dial(t.Context(), Callee{Address: l.Addr().String()}, self)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = (<-frozen).Close() }()
	began := time.Now()
	if _, err := c.Call(t.Context(), "/", nil); !errors.Is(err, ErrBroken) {
		t.Error(err)
	}
	if took := time.Since(began); took < Silence/2 || took > 3*Silence {
		t.Errorf("it took %s", took)
	}
}

// Only daemons of this site get in.
func TestRefused(t *testing.T) {
	_, leave := serve(t, echo)
	leave()
	done := make(chan struct{})
	s := &Server{Secret: "s3cret", SecretOf: members, Handle: echo, Done: done}
	srv := httptest.NewServer(s)
	defer srv.Close()
	address := srv.Listener.Addr().String()
	if _, err := Dial(t.Context(), Callee{Address: address, Secret: "guess"}, self); err == nil || !strings.Contains(err.Error(), "403") {
		t.Error(err)
	}
	resp, err := http.Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Error(resp.Status)
	}
	for name, as := range map[string]Caller{"another daemon": {ID: 8, Secret: "mine"}, "of a copy": {ID: 7, Secret: "other"}, "nobody": {}} {
		if _, err := Dial(t.Context(), Callee{Address: address, Secret: "s3cret"}, as); !errors.Is(err, ErrOtherDatabase) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.SecretOf = func(context.Context, int64) (string, error) { return "", errors.New("away") }
	if _, err := Dial(t.Context(), Callee{Address: address, Secret: "s3cret"}, self); err == nil || !strings.Contains(err.Error(), "503") {
		t.Error(err)
	}
	close(done)
	if _, err := Dial(t.Context(), Callee{Address: address, Secret: "s3cret"}, self); err == nil || !strings.Contains(err.Error(), "503") {
		t.Error(err)
	}
	if _, err := Dial(t.Context(), Callee{Address: "127.0.0.1:1", Secret: "s3cret"}, self); err == nil {
		t.Error("nobody listens there")
	}
}

// A frame that lies about its length is the end of the connection, not of the daemon.
func FuzzFrame(f *testing.F) {
	f.Add([]byte{0, 0, 0, 9, 'a', 0, 0, 0, 0, 0, 0, 0, 1})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 'a', 0, 0, 0, 0, 0, 0, 0, 1})
	f.Add([]byte{0, 0, 0, 17, 'r', 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 200, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		here, there := net.Pipe()
		go func() { _, _ = there.Write(b); _ = there.Close() }()
		in := newInbox(here, bufio.NewReader(here))
		for {
			_, _, rest, err := in.next()
			if err != nil {
				break
			}
			if r, err := readReply(rest); err == nil && len(r.Body) > len(b) {
				t.Errorf("%d bytes made %+v", len(b), r)
			}
		}
		_ = here.Close()
	})
}

// Daemons whose port speaks TLS are reached through it, and only with a certificate of a CA that is known, for the name that is expected.
func TestTLS(t *testing.T) {
	var mux http.ServeMux
	mux.Handle(Path, &Server{Secret: "s3cret", SecretOf: members, Handle: echo, Done: make(chan struct{})})
	srv := httptest.NewUnstartedServer(&mux)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // of the clients that go
	srv.StartTLS()
	t.Cleanup(srv.Close)
	cas := x509.NewCertPool()
	cas.AddCert(srv.Certificate())
	address := srv.Listener.Addr().String()
	trusting := func(cas *x509.CertPool, name string) *tls.Config {
		return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: cas, ServerName: name}
	}
	c, err := Dial(t.Context(), Callee{Address: Secure + address, Secret: "s3cret", Trust: trusting(cas, "")}, self)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if r, err := c.Call(t.Context(), "/x", []byte("y")); err != nil || string(r.Body) != "/x\ny" {
		t.Errorf("%+v %v", r, err)
	}
	if _, err := Dial(t.Context(), Callee{Address: Secure + address, Secret: "s3cret", Trust: trusting(x509.NewCertPool(), "")}, self); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("of an unknown CA: %v", err)
	}
	if _, err := Dial(t.Context(), Callee{Address: Secure + address, Secret: "s3cret", Trust: trusting(cas, "divvy")}, self); err == nil || !strings.Contains(err.Error(), "not divvy") {
		t.Errorf("of another name: %v", err)
	}
	if _, err := Dial(t.Context(), Callee{Address: address, Secret: "s3cret", Trust: trusting(cas, "")}, self); err == nil {
		t.Error("without TLS")
	}
}
