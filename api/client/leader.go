package client

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"time"
)

// headerLeader is where the daemon is that decides, in answers of the others.
const headerLeader = "Divvy-Leader"

// Times of a leader: how long it may take to answer that it is there, and a call, a long poll's wait not counted; and how long one that did
// not is left alone. One that stands still is another daemon's part soon, and leases are to be renewed there.
const (
	meetWithin   = 2 * time.Second
	leaderWithin = 10 * time.Second
	leaveAlone   = time.Minute
)

// leader is the daemon that decides, where that is another than Config.URL and answers from here: asked there, calls of pilots need no
// second hop. Not every place where pilots run reaches every daemon, so it is used once it has answered, and no call waits for that.
type leader struct {
	mu      sync.Mutex
	url     string               // empty: none
	silent  map[string]time.Time // those that did not answer, and when
	meeting context.CancelFunc   // not nil: one is asked whether it is there
	ended   bool
}

// or is the leader's URL, else another.
func (l *leader) or(other string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.url != "" {
		return l.url
	}
	return other
}

// lost leaves a daemon alone for a while.
func (l *leader) lost(url string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.silent == nil {
		l.silent = map[string]time.Time{}
	}
	l.silent[url] = time.Now()
	if l.url == url {
		l.url = ""
	}
}

// begin says whether a daemon is to be asked whether it is there, and until when.
func (l *leader) begin(url string) (ctx context.Context, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if url == l.url || l.meeting != nil || l.ended || time.Since(l.silent[url]) < leaveAlone {
		return nil, false
	}
	delete(l.silent, url)
	ctx, l.meeting = context.WithTimeout(context.Background(), meetWithin)
	return ctx, true
}

// met is what came of it.
func (l *leader) met(url string, there bool) {
	if !there {
		l.lost(url)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.meeting(); there {
		l.url = url
	}
	l.meeting = nil
}

func (l *leader) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended = true; l.meeting != nil {
		l.meeting()
	}
}

// meet has the daemon that an answer of another named, if it did, asked whether it is there. A token goes nowhere without TLS that came by it.
func (l *leader) meet(by *http.Client, at, url string) {
	if url == "" || url == at || strings.HasPrefix(at, "https:") && !strings.HasPrefix(url, "https:") {
		return
	}
	ctx, ok := l.begin(url)
	if !ok {
		return
	}
	go func() {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/healthz", nil)
		if err != nil {
			l.met(url, false)
			return
		}
		resp, err := by.Do(req)
		if err == nil {
			err = resp.Body.Close()
		}
		l.met(url, err == nil && resp.StatusCode == http.StatusOK)
	}()
}
