package chaos

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// echo is a server that says each line again.
func echo(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() { _, _ = io.Copy(c, c); _ = c.Close() })
		}
	})
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	return l
}

type caller struct {
	net.Conn
	lines *bufio.Reader
}

func wired(t *testing.T) (*Wire, func() *caller) {
	t.Helper()
	l := echo(t)
	w, err := NewWire(1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	w.Target("tcp", l.Addr().String())
	return w, func() *caller {
		c, err := net.Dial("tcp", w.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return &caller{c, bufio.NewReader(c)}
	}
}

// say writes a line and returns what comes back within d.
func (c *caller) say(line string, d time.Duration) (string, error) {
	_ = c.SetReadDeadline(time.Now().Add(d))
	if _, err := c.Write([]byte(line + "\n")); err != nil {
		return "", err
	}
	s, err := c.lines.ReadString('\n')
	return strings.TrimSuffix(s, "\n"), err
}

func (c *caller) hears(t *testing.T, line string) time.Duration {
	t.Helper()
	began := time.Now()
	if got, err := c.say(line, 10*time.Second); got != line || err != nil {
		t.Fatalf("%q came back as %q, %v", line, got, err)
	}
	return time.Since(began)
}

func TestWireDelays(t *testing.T) {
	w, dial := wired(t)
	c := dial()
	c.hears(t, "at once")
	w.Delay(30*time.Millisecond, 10*time.Millisecond)
	if took := c.hears(t, "late"); took < 60*time.Millisecond {
		t.Errorf("there and back took %v, want 60ms at least", took)
	}
	w.Heal()
	c.hears(t, "the same connection")
}

func TestWireResets(t *testing.T) {
	w, dial := wired(t)
	c := dial()
	c.hears(t, "hello")
	if n := w.Reset(); n != 1 {
		t.Errorf("%d connections were reset, want 1", n)
	}
	if _, err := c.say("anybody?", 10*time.Second); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("%v, want a reset", err)
	}
	dial().hears(t, "a new one")
}

func TestWireSwallows(t *testing.T) {
	w, dial := wired(t)
	old := dial()
	old.hears(t, "hello")
	w.Swallow()
	fresh := dial()
	var timeout net.Error
	for name, c := range map[string]*caller{"open before": old, "opened since": fresh} {
		if got, err := c.say("anybody?", 50*time.Millisecond); !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("%s: %q, %v: want silence", name, got, err)
		}
	}
	w.Heal()
	for name, c := range map[string]*caller{"open before": old, "opened since": fresh} {
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := c.lines.ReadByte(); err == nil || errors.As(err, &timeout) && timeout.Timeout() {
			t.Errorf("%s: %v: a connection that lost bytes went on", name, err)
		}
	}
	dial().hears(t, "a new one")
}

func TestWireWithoutTarget(t *testing.T) {
	w, dial := wired(t)
	dial().hears(t, "hello")
	w.Target("", "")
	c, err := net.Dial("tcp", w.Addr())
	if err == nil { // else the reset was faster
		defer c.Close()
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		_, err = c.Read(make([]byte, 1))
	}
	var timeout net.Error
	if err == nil || errors.As(err, &timeout) && timeout.Timeout() {
		t.Errorf("%v, want a reset", err)
	}
}

func TestCourier(t *testing.T) {
	var came atomic.Int64
	callee := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		came.Add(1)
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.Copy(w, r.Body)
	}))
	defer callee.Close()
	c := NewCourier(callee.URL, 1)
	c.Late = 5 * time.Millisecond
	server := httptest.NewServer(c)
	say := func() (answers int) {
		for range 40 {
			resp, err := http.Post(server.URL+"/x?y=1", "text/plain", strings.NewReader("hello"))
			if err != nil {
				continue
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusTeapot || resp.Header.Get("Retry-After") != "7" || string(body) != "hello" {
				t.Errorf("%d %q %q %v", resp.StatusCode, resp.Header.Get("Retry-After"), body, err)
			}
			answers++
		}
		return answers
	}
	if n := say(); n != 40 || came.Load() != 40 {
		t.Errorf("reliable: %d answers, %d requests came, want 40 of each", n, came.Load())
	}
	c.Unreliable.Store(true)
	n := say()
	server.Close()
	c.Close()
	twice, forgotten := int(c.Twice.Load()), int(c.Forgotten.Load())
	if twice == 0 || forgotten == 0 || n != 40-forgotten || int(came.Load()) != 80+twice {
		t.Errorf("unreliable: %d answers, %d requests in all; %d were said twice and %d answers kept back", n, came.Load(), twice, forgotten)
	}
}
