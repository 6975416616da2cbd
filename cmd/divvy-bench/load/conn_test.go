package load

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// discard is a connection that takes everything.
type discard struct{ net.Conn }

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// A connection that follows goes where an answer says that the leader is.
func TestConnFollows(t *testing.T) {
	leader := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "leader") }))
	defer leader.Close()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Divvy-Leader", leader.URL)
		fmt.Fprint(w, "other")
	}))
	defer other.Close()
	for follow, want := range map[bool]string{false: "other other other", true: "other leader leader"} {
		w, err := dial(other.Listener.Addr().String(), "/", "{}")
		if err != nil {
			t.Fatal(err)
		}
		w.follow = follow
		var got []string
		for range 3 {
			_, body, err := w.exchange()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(body))
		}
		if w.net.Close(); strings.Join(got, " ") != want {
			t.Errorf("follow %v: %v", follow, got)
		}
	}
}

func TestConnReadsAnswers(t *testing.T) {
	if _, err := statusOf([]byte("SSH-2.0-OpenSSH\r\n")); err == nil {
		t.Error("not HTTP")
	}
	answers := "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nX: y\r\n\r\nhello" + "HTTP/1.1 204 No Content\r\nRetry-After: 3\r\n\r\n" +
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	w := &conn{net: discard{}, in: bufio.NewReader(strings.NewReader(answers)), request: []byte("id" + IDPlace)}
	w.id = w.request[2:]
	if status, body, err := w.exchange(); status != 200 || string(body) != "hello" || err != nil {
		t.Errorf("%d %q %v", status, body, err)
	}
	if status, body, err := w.exchange(); status != 204 || len(body) != 0 || err != nil {
		t.Errorf("%d %q %v", status, body, err)
	}
	if _, _, err := w.exchange(); err == nil {
		t.Error("a chunked answer was read")
	}
	if string(w.id) != "0000000000000003" {
		t.Errorf("id %s", w.id)
	}
	job, lease, ok := leaseIn([]byte(`{"leases":[{"lease":"AbC-_9","job":1234,"attempt":1}],"renew_after_s":60}`))
	if job != 1234 || string(lease) != "AbC-_9" || !ok {
		t.Errorf("%d %s %v", job, lease, ok)
	}
	for _, none := range []string{"", `{"leases":[],"renew_after_s":60}`, `{"lease":"x"}`} {
		if _, _, ok := leaseIn([]byte(none)); ok {
			t.Errorf("a lease in %q", none)
		}
	}
}
