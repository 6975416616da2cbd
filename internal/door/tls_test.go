package door

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/ownca"
)

// With TLS, a request says so wherever it is served, with the client's certificate, also after the connection went over to net/http.
func TestTLS(t *testing.T) {
	ca := ownca.New(t, "ca")
	cert, key := ca.Issue(t, time.Now().Add(time.Hour), ownca.Person("host")...)
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	says := func(where string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "%s %s", where, r.TLS.PeerCertificates[0].Subject.CommonName)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	inside, gone := make(chan struct{}), make(chan struct{})
	waits := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(inside)
		<-r.Context().Done()
		close(gone)
	})
	s := &Server{Server: &http.Server{Handler: says("rest"), ReadHeaderTimeout: time.Minute, ReadTimeout: time.Minute, WriteTimeout: time.Minute, IdleTimeout: time.Minute},
		Hot: map[string]http.Handler{"/x": says("hot"), "/waits": waits}}
	over := make(chan error, 1)
	go func() {
		over <- s.Serve(tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert}))
	}()
	client := ca.Client(t, cert, key)
	for _, c := range []struct{ method, path, want string }{
		{"POST", "/x", "hot host"}, {"POST", "/x", "hot host"}, {"GET", "/x", "rest host"}, {"POST", "/x", "rest host"}, {"GET", "/y", "rest host"},
	} {
		r, _ := http.NewRequest(c.method, "https://"+l.Addr().String()+c.path, strings.NewReader("body"))
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(body) != c.want {
			t.Errorf("%s %s: %q %v, want %q", c.method, c.path, body, err, c.want)
		}
	}
	client.CloseIdleConnections() // what has gone over to net/http
	leave, cancel := context.WithCancel(t.Context())
	go func() { <-inside; cancel() }()
	r, _ := http.NewRequestWithContext(leave, http.MethodPost, "https://"+l.Addr().String()+"/waits", strings.NewReader("body"))
	if resp, err := client.Do(r); err == nil {
		t.Fatal("answered", resp.Status, resp.Body.Close())
	} else if leave.Err() == nil {
		t.Fatal(err)
	}
	<-gone
	client.CloseIdleConnections()
	for _, begin := range []string{"GET /y HTTP/1.1\r\nHost: x\r\n\r\n", "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\n" + strings.Repeat("b", 50000), "DELETE /x HTTP/1.1\r\n"} {
		if got := heard(t, l.Addr().String(), begin); !strings.HasPrefix(got, "HTTP/1.1 400 Bad Request\r\n") || !strings.Contains(got, "ask it by https://") {
			t.Errorf("%.20q without TLS: %q", begin, got)
		}
	}
	if got := heard(t, l.Addr().String(), "SSH-2.0-OpenSSH_9.2\r\n"); strings.Contains(got, "HTTP") {
		t.Errorf("what is no HTTP: %q", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	<-over
}

// heard is all that a server answers to some bytes.
func heard(t *testing.T, address, begin string) string {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, begin); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
	answer, _ := io.ReadAll(c) // a reset is an end too
	return string(answer)
}
