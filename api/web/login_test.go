package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divvyhq/divvy/api/web/hub"
	"github.com/divvyhq/divvy/internal/access"
)

// A login goes on to a path of this daemon, and to nothing that a browser would read as another host.
func TestLocalPath(t *testing.T) {
	for next, want := range map[string]string{
		"": "/", "/": "/", "/shares/A?pool=x": "/shares/A?pool=x", "/tasks?name=%09&q=//x": "/tasks?name=%09&q=//x", "/shares/Ünï": "/shares/Ünï",
		"shares": "/", "https://evil.example": "/", "//evil.example": "/", "/\\evil.example": "/", "\\/evil.example": "/",
		"/\t/evil.example": "/", "\t//evil.example": "/", "/\n/evil.example": "/", "/\r/evil.example": "/", "/\x00/evil.example": "/",
		"/\x0b/evil.example": "/", "/\x7f/evil.example": "/", "/\u0085/evil.example": "/",
	} {
		if got := localPath(next); got != want {
			t.Errorf("localPath(%q) = %q, want %q", next, got, want)
		}
	}
}

// publish is one round; n is how many events it sent.
func publish(t *testing.T, pages *hub.Hub) (n int) {
	t.Helper()
	n, err := pages.Publish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A stream ends with what let its reader in, or with the right to it: before the next event, or else at a heartbeat.
func TestStreamEndsWithItsToken(t *testing.T) {
	for name, publishes := range map[string]bool{"event": true, "heartbeat": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, pages := newStage(t), hub.New()
				s.page.cfg.Hub = pages
				var gone atomic.Bool
				s.page.cfg.Caller = func(*http.Request) *access.Caller {
					if gone.Load() {
						return nil
					}
					return &access.Caller{Name: "x", Role: access.Admin}
				}
				over, w := make(chan struct{}), httptest.NewRecorder()
				go func() {
					defer close(over)
					s.mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/events?of=/queues", nil))
				}()
				synctest.Wait()
				publish(t, pages)
				synctest.Wait()
				if n := strings.Count(w.Body.String(), "event: update"); n != 1 {
					t.Fatalf("%d events: %s", n, w.Body)
				}
				gone.Store(true)
				began := time.Now()
				if publishes {
					publish(t, pages)
				}
				<-over
				if took := time.Since(began); publishes && took != 0 || took > hub.Heartbeat {
					t.Errorf("it went on for %v", took)
				}
				if n := strings.Count(w.Body.String(), "event: update"); n != 1 || strings.Contains(w.Body.String(), "still here") || publish(t, pages) != 0 {
					t.Errorf("%d events, or a reader that is still there: %s", n, w.Body)
				}
			})
		})
	}
}

// Decisions name jobs, tasks and pilots of all users: who sees its own user's things only is shown none, in no form.
func TestQueueWithoutDecisionsOfOthers(t *testing.T) {
	s := filled(t)
	for _, c := range []struct {
		caller access.Caller
		sees   bool
	}{
		{access.Caller{Name: "alice", Role: access.Submitter, Subject: access.Subject{User: "alice"}}, false},
		{access.Caller{Name: "root", Role: access.Admin}, true},
	} {
		s.page.cfg.Caller = func(*http.Request) *access.Caller { return &c.caller }
		page := s.call(http.MethodGet, "/queues/CERN", nil, "text/html").Body.String()
		if strings.Contains(page, "/jobs/77") != c.sees || strings.Contains(page, "Decided of late") != c.sees || !strings.Contains(page, "Held by share") {
			t.Errorf("%s: %s", c.caller.Name, page)
		}
		said := s.call(http.MethodGet, "/queues/CERN?format=json", nil, "").Body.String()
		if strings.Contains(said, `"decisions":[{`) != c.sees || strings.Contains(said, `"pilot"`) != c.sees || !strings.Contains(said, `"name":"CERN"`) {
			t.Errorf("%s: %s", c.caller.Name, said)
		}
	}
	s.world.decided = nil
	if said := s.call(http.MethodGet, "/queues/CERN?format=json", nil, "").Body.String(); !strings.Contains(said, `"decisions":[]`) {
		t.Errorf("without any decision: %s", said)
	}
}
