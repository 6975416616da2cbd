package load

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/wire"
)

// renewServer keeps all leases but one, and says when it has had so many calls.
type renewServer struct {
	lost  string
	calls int
	full  chan struct{}

	mu   sync.Mutex
	seen map[string]int
}

func (s *renewServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var req wire.RenewRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || r.URL.Path != "/v1/leases/renew" {
		http.Error(w, fmt.Sprint(r.URL, err), http.StatusBadRequest)
		return
	}
	reply := wire.RenewReply{Kept: []string{}, Lost: []string{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range req.Leases {
		s.seen[l.Lease]++
		if l.Lease == s.lost {
			reply.Lost = append(reply.Lost, l.Lease)
		} else {
			reply.Kept = append(reply.Kept, l.Lease)
		}
	}
	_ = json.NewEncoder(w).Encode(reply)
	if s.calls--; s.calls == 0 {
		close(s.full)
	}
}

// renewFor runs a renewing load of 100 leases, 16 a pilot, until the server has had so many calls.
func renewFor(t *testing.T, s *renewServer, first int, every time.Duration) (Outcome, error) {
	t.Helper()
	server := httptest.NewServer(s)
	defer server.Close()
	in, feed := io.Pipe()
	go func() {
		for i := range 100 {
			fmt.Fprintf(feed, "L%d\n", i)
		}
		<-s.full
		feed.Close()
	}()
	o := Order{Mode: Renew, Address: strings.TrimPrefix(server.URL, "http://"),
		Renew: Renewals{Every: every, Leases: 100, Slots: 16, First: first, Connections: 3}}
	return o.renew(bufio.NewReader(in))
}

// Pilots are called in their order, from the one that was next the last time, round and round; all that were called
// stand before the one that is next then.
func TestRenewLoad(t *testing.T) {
	s := &renewServer{calls: 9, full: make(chan struct{}), seen: map[string]int{}}
	r, err := renewFor(t, s, 5, 35*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if r.Answers < 9 || r.Renewed.Next != (5+r.Answers)%7 || r.Renewed.Lost != 0 {
		t.Errorf("%+v", r)
	}
	kept := 0
	for i := range 100 {
		pilot := i / 16
		want := (r.Answers + 6 - (pilot+2)%7) / 7
		if got := s.seen[fmt.Sprint("L", i)]; got != want {
			t.Errorf("lease %d of pilot %d was renewed %d times, want %d in %d calls", i, pilot, got, want, r.Answers)
		}
		kept += want
	}
	if sum := 0; r.Renewed.Kept != kept {
		t.Errorf("%d kept, want %d", r.Renewed.Kept, kept)
	} else {
		for _, n := range r.Renewed.Tenths {
			sum += n
		}
		if sum != kept {
			t.Errorf("tenths add up to %d, want %d", sum, kept)
		}
	}
}

func TestRenewLoadCountsWhatIsLostAndLate(t *testing.T) {
	s := &renewServer{calls: 7, full: make(chan struct{}), seen: map[string]int{}, lost: "L3"}
	r, err := renewFor(t, s, 0, 7*time.Nanosecond) // all are due at once, and none is in time
	if err != nil || r.Renewed.Lost != s.seen["L3"] || r.Renewed.Lost == 0 || r.Renewed.Latest <= 0 || r.Renewed.Latest < r.Elapsed/2 {
		t.Errorf("%+v %v", r.Renewed, err)
	}
}

func TestRenewLoadFails(t *testing.T) {
	full := make(chan struct{})
	close(full)
	refuses := httptest.NewServer(http.NotFoundHandler())
	defer refuses.Close()
	good := Renewals{Every: time.Nanosecond, Leases: 1, Slots: 1, Connections: 1}
	for name, c := range map[string]struct {
		order Renewals
		in    string
		says  string
	}{
		"no slots":   {Renewals{Every: time.Second, Leases: 1, Connections: 1}, "L\n", "makes no sense"},
		"too few":    {Renewals{Every: time.Second, Leases: 2, Slots: 1, Connections: 1}, "L\n", "leases: EOF"},
		"no address": {good, "L\n", "dial"},
	} {
		_, err := Order{Renew: c.order, Address: "127.0.0.1:1"}.renew(bufio.NewReader(strings.NewReader(c.in)))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	l := &renewLoad{Renewals: good, pilots: 1, began: time.Now(), over: make(chan struct{}), leases: []string{"L"}}
	w, err := dial(strings.TrimPrefix(refuses.URL, "http://"), "/", "")
	if err != nil {
		t.Fatal(err)
	}
	defer w.net.Close()
	c := &renewing{conn: w}
	l.run(c)
	if c.err == nil || !strings.Contains(c.err.Error(), "status 404") {
		t.Errorf("refused: %v", c.err)
	}
}

func TestRenewRate(t *testing.T) {
	began := time.Now()
	r := Renewed{Began: began, Tenths: []int{1000, 10, 20, 30, 40, 1000}}
	const tenth = time.Second / 10
	for _, c := range []struct {
		from, span time.Duration
		want       float64
	}{
		{tenth, 4 * tenth, 250},                // whole tenths
		{tenth / 2, 4*tenth + tenth*6/10, 250}, // those at the edges do not count
		{4 * tenth, 10 * tenth, 1040.0},        // nothing was kept after the end: it counts
		{tenth + tenth/2, tenth, 0},            // no whole one
		{-5 * tenth, 5 * tenth, 0},             // before it began
		{-tenth, 2 * tenth, 10_000},            // half of it before
	} {
		if got := r.Rate(began.Add(c.from), c.span); got < c.want-1e-6 || got > c.want+1e-6 {
			t.Errorf("rate from %s for %s: %v, want %v", c.from, c.span, got, c.want)
		}
	}
}
