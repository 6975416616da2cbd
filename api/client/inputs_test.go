package client

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/wire"
)

// store is a daemon that keeps inputs as the generator does: only at the right offset.
type store struct {
	mu    sync.Mutex
	names []string
	calls int
	// spoil may break the n-th call, before or after its lines are stored.
	spoil func(n int, w http.ResponseWriter) (before, after bool)
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	before, after := false, false
	if s.spoil != nil {
		before, after = s.spoil(s.calls, w)
	}
	if before {
		panic(http.ErrAbortHandler)
	}
	offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	if offset != len(s.names) {
		next := int64(len(s.names))
		refuse(w, wire.Problem{Title: "Wrong offset", Status: 409, Code: "wrong_offset", Next: &next})
		return
	}
	for lines := bufio.NewScanner(r.Body); lines.Scan(); {
		name, err := strconv.Unquote(lines.Text())
		if err != nil {
			panic(err)
		}
		s.names = append(s.names, name)
		if after && len(s.names)%7 == 3 {
			panic(http.ErrAbortHandler) // a part is stored, the answer is lost
		}
	}
	answer(w, 200, wire.Stored{Task: 3, Next: int64(len(s.names))})
}

func names(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "file-%d\n", i)
		if i%100 == 0 {
			b.WriteString("\n") // empty lines do not count
		}
	}
	return b.String()
}

func (s *store) check(t *testing.T, n int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.names) != n {
		t.Fatalf("%d inputs stored, want %d", len(s.names), n)
	}
	for i, name := range s.names {
		if name != fmt.Sprintf("file-%d", i) {
			t.Fatalf("input %d is %q", i, name)
		}
	}
}

func TestSendNames(t *testing.T) {
	s := &store{}
	c, _ := daemon(t, s.ServeHTTP)
	var heard []int64
	n, err := c.Tasks().SendNames(t.Context(), 3, strings.NewReader(names(25_000)), func(stored int64) { heard = append(heard, stored) })
	if err != nil || n != 25_000 {
		t.Fatal(n, err)
	}
	s.check(t, 25_000)
	if fmt.Sprint(heard) != "[10000 20000 25000]" {
		t.Errorf("progress: %v", heard)
	}
}

// Connections break before, after and amid a chunk: nothing is lost, nothing is stored twice.
func TestSendNamesOverABadLine(t *testing.T) {
	s := &store{}
	s.spoil = func(n int, _ http.ResponseWriter) (before, after bool) { return n%4 == 2, n%4 == 3 }
	c, _ := daemon(t, s.ServeHTTP, func(c *Config) { c.Patience = time.Minute })
	n, err := c.Tasks().SendNames(t.Context(), 3, strings.NewReader(names(25_000)), nil)
	if err != nil || n != 25_000 {
		t.Fatal(n, err)
	}
	s.check(t, 25_000)
}

// A second call goes on where the first one was ended.
func TestSendNamesResumes(t *testing.T) {
	s := &store{}
	s.spoil = func(n int, w http.ResponseWriter) (bool, bool) { return n > 2, false }
	c, _ := daemon(t, s.ServeHTTP, func(c *Config) { c.Patience = -1 })
	n, err := c.Tasks().SendNames(t.Context(), 3, strings.NewReader(names(25_000)), nil)
	if !IsUnavailable(err) || n != 10_000 {
		t.Fatal(n, err)
	}
	s.mu.Lock()
	s.spoil = nil
	s.mu.Unlock()
	if n, err = c.Tasks().SendNames(t.Context(), 3, strings.NewReader(names(25_000)), nil); err != nil || n != 25_000 {
		t.Fatal(n, err)
	}
	s.check(t, 25_000)
}

func TestSendNamesRefused(t *testing.T) {
	c, calls := daemon(t, func(w http.ResponseWriter, r *http.Request) {
		refuse(w, wire.Problem{Title: "No task", Status: 404, Code: "no_task"})
	})
	if _, err := c.Tasks().SendNames(t.Context(), 3, strings.NewReader("a\n"), nil); !IsNotFound(err) || calls.Load() != 1 {
		t.Error(err)
	}
	s := &store{}
	c, _ = daemon(t, s.ServeHTTP)
	broken := errors.New("disk")
	if n, err := c.Tasks().SendNames(t.Context(), 3, readerOf("a\nb\n", broken), nil); !errors.Is(err, broken) || n > 2 {
		t.Error(n, err)
	}
}

type brokenReader struct {
	text *strings.Reader
	err  error
}

func readerOf(text string, err error) *brokenReader {
	return &brokenReader{strings.NewReader(text), err}
}

func (r *brokenReader) Read(p []byte) (int, error) {
	if r.text.Len() > 0 {
		return r.text.Read(p)
	}
	return 0, r.err
}
