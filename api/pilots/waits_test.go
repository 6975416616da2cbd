package pilots

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/keys"
)

// judged is whom a credential stands for now, as a test says it.
type judged struct {
	c   *access.Caller
	why error
}

const secret = "0123456789abcdef-secret"

const slowPull = `{"queue":"CERN","pilot":"p1","slot":{"cores":8},"wait_s":25}`

// waitingBench asks for one of two tokens, and asks a test whom the first stands for while pulls wait.
func waitingBench(t *testing.T, d Dispatcher, as *atomic.Pointer[judged]) (b *bench, asked *atomic.Int64) {
	tokens, err := access.ReadTokens("token file", strings.NewReader(secret+"\nanother-token-of-length"))
	if err != nil {
		t.Fatal(err)
	}
	b = newBench(t, d, access.Entrance{Book: access.NewBook(nil, tokens...)})
	known, asked := b.calls.waits.caller, &atomic.Int64{}
	b.calls.waits.caller = func(ctx context.Context, by access.Shown) (*access.Caller, error) {
		asked.Add(1)
		if j := as.Load(); j != nil && by.Authorization == "Bearer "+secret {
			return j.c, j.why
		}
		return known(ctx, by)
	}
	return b, asked
}

// Pulls that wait end when what has let them in is taken back, and only those.
func TestPullsEndWithTheirCredential(t *testing.T) {
	for name, c := range map[string]struct {
		judged
		status int
		says   string
		ends   time.Duration
	}{
		"revoked":         {judged{}, 401, "was revoked", 8 * time.Second},
		"refused":         {judged{why: errors.New("the token has run out")}, 401, "has run out", 8 * time.Second},
		"another role":    {judged{c: &access.Caller{Name: "x", Role: access.Reader}}, 403, "needs a token with the role", 8 * time.Second},
		"another queue":   {judged{c: &access.Caller{Name: "x", Role: access.Pilot, Subject: access.Subject{Queues: []string{"BNL"}}}}, 403, `queue \"CERN\" is not one`, 8 * time.Second},
		"read anew":       {judged{c: &access.Caller{Name: "x", Role: access.Pilot}}, 503, "", 26 * time.Second},
		"not to be asked": {judged{why: keys.Unchecked{Issuer: "x"}}, 503, "", 26 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var as atomic.Pointer[judged]
				b, _ := waitingBench(t, &hanging{}, &as)
				began := time.Now()
				pull := func(token string, got **httptest.ResponseRecorder, took *time.Duration) {
					*got = b.call(edge.PathPulls, slowPull, "Authorization", "Bearer "+token)
					*took = time.Since(began)
				}
				var its, others *httptest.ResponseRecorder
				var itsTook, othersTook time.Duration
				go pull(secret, &its, &itsTook)
				go pull("another-token-of-length", &others, &othersTook)
				time.Sleep(7500 * time.Millisecond)
				as.Store(&c.judged)
				time.Sleep(30 * time.Second)
				synctest.Wait()
				if its.Code != c.status || !strings.Contains(its.Body.String(), c.says) || itsTook != c.ends {
					t.Errorf("%d after %v, want %d after %v: %s", its.Code, itsTook, c.status, c.ends, its.Body)
				}
				if c.status < 500 && its.Header().Get("Connection") != "close" {
					t.Error("the connection goes on, whose context is over")
				}
				if (c.status == http.StatusUnauthorized) != (its.Header().Get("WWW-Authenticate") != "") {
					t.Errorf("headers: %v", its.Header())
				}
				if others.Code != 503 || othersTook != 26*time.Second {
					t.Errorf("with another token: %d after %v: %s", others.Code, othersTook, others.Body)
				}
			})
		})
	}
}

// stubborn grants when nobody waits any more.
type stubborn struct{ granting }

func (s *stubborn) Pull(ctx context.Context, r dispatcher.PullRequest) (dispatcher.PullReply, error) {
	<-ctx.Done()
	return s.granting.Pull(ctx, r)
}

// What was granted in the very moment goes out: nobody else would know of it.
func TestGrantedWhileTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var as atomic.Pointer[judged]
		b, _ := waitingBench(t, &stubborn{}, &as)
		as.Store(&judged{})
		w := b.call(edge.PathPulls, slowPull, "Authorization", "Bearer "+secret)
		if w.Code != 200 || !strings.Contains(w.Body.String(), `"lease":"L1"`) || w.Header().Get("Connection") != "close" {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
	})
}

// One question a second stands for all pulls of a token, and none is asked when nobody waits.
func TestOneQuestionForAllThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var as atomic.Pointer[judged]
		b, asked := waitingBench(t, &hanging{}, &as)
		for range 1000 {
			go b.call(edge.PathPulls, slowPull, "Authorization", "Bearer "+secret)
		}
		time.Sleep(10*time.Second + 500*time.Millisecond)
		if n := asked.Load(); n != 10 {
			t.Errorf("asked %d times in 10 s", n)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		n := asked.Load()
		time.Sleep(time.Minute)
		if asked.Load() != n || len(b.calls.waits.all) != 0 || b.calls.waits.timer != nil {
			t.Errorf("asked %d times more while nobody waits; %d are kept", asked.Load()-n, len(b.calls.waits.all))
		}
	})
}
