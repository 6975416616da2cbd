package client

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/divvyhq/divvy/api/wire"
)

// headerLeader is where the daemon is that decides, in answers of the others; headerID a daemon returns as it was sent.
const (
	headerLeader = "Divvy-Leader"
	headerID     = "X-Request-Id"
)

// Times of a leader: how long it may take to answer that it is there, and a call that may be repeated, a long poll's wait not counted; and
// how long one that did not is left alone, at first and at last. Where one stands still, another daemon leads soon.
const (
	meetWithin   = 2 * time.Second
	leaderWithin = 10 * time.Second
	firstAlone   = time.Minute
	mostAlone    = time.Hour
)

// leader is the daemon that decides, where that is another than Config.URL and answers from here: asked there, calls of pilots need no
// second hop. Not every place where pilots run reaches every daemon, so it is used once it has answered, and no call waits for that.
type leader struct {
	mu      sync.Mutex
	url     string             // empty: none
	life    context.Context    // of calls to url
	leave   context.CancelFunc // ends them
	silent  map[string]silence
	meeting context.CancelFunc // not nil: a leader is being tried
	ended   bool
}

// silence is that of a daemon that did not answer.
type silence struct {
	until time.Time // it is left alone
	next  time.Duration
}

// or is the leader's URL, and the life of calls to it, else another and no end.
func (l *leader) or(other string) (at string, life context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.url != "" {
		return l.url, l.life
	}
	return other, context.Background()
}

// failed hears how a call to a daemon went wrong, and leaves it if it is not there or is none of ours. Stranger: it did nothing.
func (l *leader) failed(url string, err error) (stranger bool) {
	var p *wire.Problem
	var away *Unreachable
	switch {
	case errors.As(err, &p):
		if !strings.HasPrefix(p.Code, foreign) && p.Status != http.StatusUnauthorized {
			return false // it is there
		}
		stranger = p.Status == http.StatusUnauthorized || p.Status == http.StatusForbidden || p.Status == http.StatusNotFound || p.Status == http.StatusMethodNotAllowed
	case errors.As(err, &away), errors.Is(err, context.DeadlineExceeded):
	default:
		return false
	}
	l.lost(url)
	return stranger
}

// lost leaves a daemon alone for a while, longer each time, and ends the calls that wait there.
func (l *leader) lost(url string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.silent == nil {
		l.silent = map[string]silence{}
	}
	if was := l.silent[url]; time.Now().After(was.until) {
		pause := firstAlone
		if time.Since(was.until) < was.next {
			pause = was.next
		}
		l.silent[url] = silence{time.Now().Add(pause), min(mostAlone, 2*pause)}
	}
	if l.url == url {
		l.leave()
		l.url = ""
	}
}

// begin says whether a daemon is to be asked whether it is there, and until when.
func (l *leader) begin(url string) (ctx context.Context, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if url == l.url || l.meeting != nil || l.ended || time.Now().Before(l.silent[url].until) {
		return nil, false
	}
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
	l.meeting()
	if l.meeting = nil; !there || l.ended {
		return
	}
	l.url = url // calls that wait at another one are answered there
	l.life, l.leave = context.WithCancel(context.Background())
}

func (l *leader) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended = true; l.meeting != nil {
		l.meeting()
	}
	if l.url != "" {
		l.leave()
		l.url = ""
	}
}

// meet has the daemon that an answer of another named, if it did, asked whether it is there. It has to return the id of the request, as ours do.
func (l *leader) meet(by *http.Client, at, url string) {
	if url == at || !mayFollow(at, url) {
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
		id := rand.Text()
		req.Header.Set(headerID, id)
		resp, err := by.Do(req)
		if err == nil {
			err = resp.Body.Close()
		}
		l.met(url, err == nil && resp.StatusCode == http.StatusOK && resp.Header.Get(headerID) == id && resp.Request.URL.String() == req.URL.String())
	}()
}

// mayFollow says whether a token that goes to one URL may go to another: it is not to be read on the way, and an address of a host itself means
// another host elsewhere.
func mayFollow(at, other string) bool {
	from, err := url.Parse(at)
	if err != nil {
		return false
	}
	to, err := url.Parse(other)
	return err == nil && to.Host != "" && (to.Scheme == "https" || to.Scheme == "http" && from.Scheme == "http") && loopback(from) == loopback(to)
}

func loopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
