package door

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// house is a server whose hot route /x says "hot" and the body it got, or does what act says; all else says "rest".
type house struct {
	*Server
	address string
	over    chan error
}

type key struct{} // of what ConnContext adds

func open(t *testing.T, act http.HandlerFunc) *house {
	t.Helper()
	return openWith(t, func(*Server) {}, act)
}

// openWith is open with something changed.
func openWith(t *testing.T, change func(*Server), act http.HandlerFunc) *house {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if act == nil {
		act = func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintf(w, "hot %s", body)
		}
	}
	rest := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "rest %s %v", r.Method, err)
	})
	h := &house{&Server{
		Server: &http.Server{
			Handler: rest, IdleTimeout: time.Minute, ReadHeaderTimeout: time.Minute, ReadTimeout: 200 * time.Millisecond, WriteTimeout: time.Minute,
			ConnContext: func(ctx context.Context, _ net.Conn) context.Context { return context.WithValue(ctx, key{}, "k") },
		},
		Hot: map[string]http.Handler{"/x": act},
	}, l.Addr().String(), make(chan error, 1)}
	change(h.Server)
	go func() { h.over <- h.Serve(l) }()
	t.Cleanup(func() {
		if err := errors.Join(h.Close(), <-h.over); !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return h
}

// guest is a client's connection.
type guest struct {
	net.Conn
	in *bufio.Reader
	t  *testing.T
}

func (h *house) guest(t *testing.T) *guest {
	t.Helper()
	c, err := net.Dial("tcp", h.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return &guest{c, bufio.NewReader(c), t}
}

func (g *guest) send(text string) *guest {
	g.t.Helper()
	if _, err := io.WriteString(g, text); err != nil {
		g.t.Fatal(err)
	}
	return g
}

// answer reads one answer.
func (g *guest) answer() (*http.Response, string) {
	g.t.Helper()
	r, err := http.ReadResponse(g.in, nil)
	if err != nil {
		g.t.Fatal("answer:", err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		g.t.Fatal("body:", err)
	}
	return r, string(body)
}

func (g *guest) expect(want ...string) {
	g.t.Helper()
	for _, w := range want {
		if _, body := g.answer(); body != w {
			g.t.Errorf("answered %q, want %q", body, w)
		}
	}
}

// ended fails unless the server has closed the connection.
func (g *guest) ended() {
	g.t.Helper()
	if b, err := g.in.ReadByte(); err != io.EOF {
		g.t.Errorf("not closed: %q %v", b, err)
	}
}

func request(body string, more ...string) string {
	l := append([]string{"POST /x HTTP/1.1", "Host: a", fmt.Sprint("Content-Length: ", len(body))}, more...)
	return lines(body, l...)
}

func TestWhoAnswers(t *testing.T) {
	h := open(t, nil)
	get := lines("", "GET /x HTTP/1.1", "Host: a")
	h.guest(t).send(request("1")).expect("hot 1")
	h.guest(t).send(get).expect("rest GET <nil>")
	h.guest(t).send(request("1")+request("22")+get+request("")).expect("hot 1", "hot 22", "rest GET <nil>", "rest POST <nil>")
	h.guest(t).send(lines("3\r\nabc\r\n0\r\n\r\n", "POST /x HTTP/1.1", "Host: a", "Transfer-Encoding: chunked")).expect("rest POST <nil>")
	large := strings.Repeat("x", MaxBody)
	h.guest(t).send(request(large)+request("")).expect("hot "+large, "hot ")
	h.guest(t).send(request(large + "x")).expect("rest POST <nil>")
}

// A request may come in pieces; when they come too slowly, or no more, net/http has the verdict.
func TestPieces(t *testing.T) {
	h := open(t, nil)
	whole := request("abc", "A: b")
	for cut := 1; cut < len(whole); cut += 7 {
		h.guest(t).send(whole[:cut]).send(whole[cut:]).expect("hot abc")
	}
	slow := h.guest(t).send(request("abc")[:len(request("abc"))-1])
	if _, body := slow.answer(); !strings.Contains(body, "rest POST") || !strings.Contains(body, "timeout") {
		t.Errorf("a slow body: %q", body)
	}
	torn := h.guest(t).send(request("abc")[:len(request("abc"))-1])
	_ = torn.Conn.(*net.TCPConn).CloseWrite()
	torn.expect("rest POST unexpected EOF")
}

func TestAnswers(t *testing.T) {
	h := open(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-A", "one\r\nX-B: two")
		switch body, _ := io.ReadAll(r.Body); string(body) {
		case "none":
			w.WriteHeader(http.StatusNoContent)
			if _, err := io.WriteString(w, "x"); !errors.Is(err, http.ErrBodyNotAllowed) {
				t.Error(err)
			}
		case "long":
			w.WriteHeader(http.StatusTeapot)
			w.WriteHeader(http.StatusOK)
			for range 1000 {
				_, _ = io.WriteString(w, strings.Repeat("y", 100))
			}
		case "last":
			w.Header().Set("Connection", "close")
		case "abort":
			panic(http.ErrAbortHandler)
		}
	})
	g := h.guest(t).send(request("none") + request("long") + request("") + request("last"))
	for _, want := range []struct{ status, length int }{{204, 0}, {418, 100000}, {200, 0}, {200, 0}} {
		r, body := g.answer()
		if r.StatusCode != want.status || len(body) != want.length || r.Header.Get("X-B") != "" || r.Header.Get("Date") == "" {
			t.Errorf("%d %d bytes %v, want %v", r.StatusCode, len(body), r.Header, want)
		}
	}
	g.ended()
	g = h.guest(t).send(request("", "Connection: close"))
	if r, _ := g.answer(); !r.Close {
		t.Error("the answer does not say that it is the last")
	}
	g.ended()
	h.guest(t).send(request("abort")).ended()
}

// Who connects and says nothing does not stay.
func TestSilentClient(t *testing.T) {
	openWith(t, func(s *Server) { s.ReadHeaderTimeout = 20 * time.Millisecond }, nil).guest(t).ended()
}

// The request is the one that net/http would have made, and the next one's has nothing of it.
func TestRequest(t *testing.T) {
	h := open(t, func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		fmt.Fprintf(w, "%s %s %s %q %d %s %v %v", r.Method, r.URL.Path, r.Host, r.Header["A"], r.ContentLength, r.Proto,
			ctx.Value(key{}), ctx.Value(http.LocalAddrContextKey))
	})
	h.guest(t).send(request("1", "a: b")+request("")).
		expect(`POST /x a ["b"] 1 HTTP/1.1 k `+h.address, "POST /x a [] 0 HTTP/1.1 k "+h.address)
}

// The handler is told; and other clients' handlers are not.
func TestClientGoes(t *testing.T) {
	inside, gone := make(chan string, 3), make(chan string, 3)
	h := open(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		inside <- string(body)
		<-r.Context().Done()
		gone <- string(body)
	})
	stays := h.guest(t).send(request("stays"))
	<-inside
	for _, also := range []string{"", request("early")} {
		g := h.guest(t).send(request("goes"))
		<-inside
		if also != "" {
			g.send(also)
		}
		g.Close()
		select {
		case who := <-gone:
			if who != "goes" {
				t.Error("told:", who)
			}
		case <-time.After(10 * time.Second):
			t.Error("the handler was not told")
		}
	}
	if who := <-gone; who != "early" { // whoever asked for more is gone for that too
		t.Error("told:", who)
	}
	stays.Close()
	if who := <-gone; who != "stays" {
		t.Error("told:", who)
	}
}

// A request that is soon over is served though its client asks for no more.
func TestHalfClosed(t *testing.T) {
	h := open(t, nil)
	g := h.guest(t).send(request("last"))
	if err := g.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	g.expect("hot last")
	g.ended()
}

// What a client sends while a long request is under way is not lost, and idle connections stay open after one.
func TestImpatientClient(t *testing.T) {
	goOn := make(chan struct{})
	h := open(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) == "first" {
			<-goOn
		}
		fmt.Fprintf(w, "%s", body)
	})
	g := h.guest(t)
	for _, early := range []string{request("second"), ""} {
		g.send(request("first"))
		g.send(early)
		goOn <- struct{}{}
		if g.expect("first"); early == "" {
			g.send(request("second"))
		}
		g.expect("second")
	}
}

// A connection whose answer was sent at that very moment is closed as well.
func TestShutdownJustAfterAnAnswer(t *testing.T) {
	for range 300 {
		h := open(t, func(http.ResponseWriter, *http.Request) {})
		h.guest(t).send(request("")).expect("")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		err := h.Shutdown(ctx)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestShutdown(t *testing.T) {
	inside, goOn := make(chan struct{}), make(chan struct{})
	h := open(t, func(w http.ResponseWriter, _ *http.Request) {
		inside <- struct{}{}
		<-goOn
	})
	idle, busy, fresh := h.guest(t).send(request("")), h.guest(t), h.guest(t)
	<-inside
	goOn <- struct{}{}
	idle.expect("")
	busy.send(request(""))
	<-inside
	over := make(chan error)
	go func() { over <- h.Shutdown(t.Context()) }()
	idle.ended()
	fresh.ended()
	select {
	case err := <-over:
		t.Fatal("does not wait for the request under way", err)
	default:
	}
	close(goOn)
	if r, _ := busy.answer(); !r.Close {
		t.Error("the answer does not say that it is the last")
	}
	busy.ended()
	if err := <-over; err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", h.address); err == nil {
		c.Close()
		t.Error("still listening")
	}
}
