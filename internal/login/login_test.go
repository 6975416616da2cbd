package login

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/oauth2"

	"github.com/divvyhq/divvy/internal/keys"
	"github.com/divvyhq/divvy/internal/ownca"
)

const server = "https://divvy.example.org:8470"

// clientOf is the client of a test's issuer, which knows by now where people log in.
func clientOf(t *testing.T, i *ownca.Issuer) Client {
	t.Helper()
	at, err := keys.NewIssuer(i.URL, "divvy", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := at.Endpoints(t.Context()); err != nil {
		t.Fatal(err)
	}
	return Client{Issuer: at, ID: "divvy", Scopes: []string{"openid"}}
}

// direct asks an issuer without a network, whose goroutines would keep a bubble's clock. down are questions that get no answer.
type direct struct {
	*ownca.Issuer
	down map[int]bool
	n    int
}

func (d *direct) RoundTrip(r *http.Request) (*http.Response, error) {
	if d.n++; d.down[d.n] {
		return nil, errors.New("connection refused")
	}
	w := httptest.NewRecorder()
	d.Config.Handler.ServeHTTP(w, r)
	return w.Result(), nil
}

func (d *direct) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Transport: d})
}

// A login at a terminal waits as the issuer says, through answers that are missing, and says how it ended.
func TestDevice(t *testing.T) {
	for name, c := range map[string]struct {
		polls []string
		down  map[int]bool // the first question is for the code
		code  time.Duration
		took  time.Duration
		want  string
	}{
		"at once":     {took: time.Second},
		"pending":     {polls: []string{"authorization_pending", "authorization_pending"}, took: 3 * time.Second},
		"slow down":   {polls: []string{"authorization_pending", "slow_down", "authorization_pending"}, took: 14 * time.Second},
		"no answer":   {polls: []string{"authorization_pending"}, down: map[int]bool{3: true, 4: true}, took: 4 * time.Second},
		"denied":      {polls: []string{"authorization_pending", "access_denied"}, took: 2 * time.Second, want: "the login was denied at http://"},
		"expired":     {polls: []string{"expired_token"}, took: time.Second, want: "the code WXYZ-1234 ended at "},
		"never":       {down: map[int]bool{2: true, 3: true, 4: true, 5: true}, code: 3 * time.Second, took: 3 * time.Second, want: "the code WXYZ-1234 ended at "},
		"not allowed": {polls: []string{"unauthorized_client"}, took: time.Second, want: "refuses: unauthorized_client"},
	} {
		t.Run(name, func(t *testing.T) {
			i := ownca.NewIssuer(t)
			client := clientOf(t, i)
			synctest.Test(t, func(t *testing.T) {
				i.Now(func(l *ownca.Logins) { l.Polls, l.Code = c.polls, c.code })
				ctx := (&direct{Issuer: i, down: c.down}).in(t.Context())
				d, err := client.Begin(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if d.URL != i.URL+"/enter" || d.Code != "WXYZ-1234" || !strings.HasPrefix(d.Complete, d.URL) {
					t.Errorf("%+v", d)
				}
				began := time.Now()
				tokens, err := d.Wait(ctx)
				if took := time.Since(began).Round(time.Second); took != c.took {
					t.Errorf("it took %v, want %v", took, c.took)
				}
				switch {
				case c.want != "":
					if err == nil || !strings.Contains(err.Error(), c.want) {
						t.Errorf("%v, want %s", err, c.want)
					}
				case err != nil || tokens.ID == "" || tokens.Access == "" || tokens.Refresh == "":
					t.Errorf("%+v %v", tokens, err)
				}
			})
		})
	}
}

// What cannot begin says why.
func TestBeginFails(t *testing.T) {
	i := ownca.NewIssuer(t)
	client := clientOf(t, i)
	i.Away.Store(true)
	if _, err := client.Begin(t.Context()); !errors.As(err, new(*Away)) || !strings.Contains(err.Error(), "issuer "+i.URL+" does not answer") {
		t.Error(err)
	}
	at, err := keys.NewIssuer(i.URL, "divvy", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (Client{Issuer: at, ID: "divvy"}).Begin(t.Context()); !errors.As(err, new(*Away)) {
		t.Error(err)
	}
	for body, want := range map[string]string{
		`"token_endpoint": "I/token"`: "publishes no device_authorization_endpoint",
		`"token_endpoint": "I/token", "device_authorization_endpoint": "http://x.example/d"`: `names "http://x.example/d" to log in at, which is not https`,
		`"token_endpoint": "I/token", "device_authorization_endpoint": "I/d"`:                "gives no code",
	} {
		s := httptest.NewUnstartedServer(nil)
		s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodPost {
				_, _ = w.Write([]byte("{}"))
				return
			}
			_, _ = w.Write([]byte(strings.ReplaceAll(`{"issuer": "I/", "jwks_uri": "I/keys", `+body+"}", "I/", s.URL+"/")))
		})
		s.Start()
		t.Cleanup(s.Close)
		at, err := keys.NewIssuer(s.URL, "divvy", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (Client{Issuer: at, ID: "divvy"}).Begin(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}

// keptBy logs in by a device and keeps what came.
func keptBy(t *testing.T, i *ownca.Issuer) Kept {
	t.Helper()
	k, c := Kept{filepath.Join(t.TempDir(), "divvy", "logins")}, clientOf(t, i)
	d, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := d.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Put(t.Context(), c.Of(server, tokens, false)); err != nil {
		t.Fatal(err)
	}
	return k
}

// A login is a file that its owner alone may read, for one server.
func TestKept(t *testing.T) {
	i := ownca.NewIssuer(t)
	k := keptBy(t, i)
	token, err := k.Token(t.Context(), server)
	if err != nil || token == "" {
		t.Fatal(token, err)
	}
	for name, want := range map[string]fs.FileMode{k.File(server): 0o600, k.File(server) + ".lock": 0o600, k.dir: 0o700} {
		if at, err := os.Stat(name); err != nil || at.Mode().Perm() != want {
			t.Errorf("%s: %v %v, want %v", name, at.Mode(), err, want)
		}
	}
	if other, err := k.Token(t.Context(), "https://divvy.example.org"); other != "" || err != nil {
		t.Errorf("another server: %q %v", other, err)
	}
	if err := os.Chmod(k.File(server), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Token(t.Context(), server); err == nil || !strings.Contains(err.Error(), "others may read it (mode 0640)") {
		t.Error(err)
	}
	if err := os.WriteFile(k.File(server), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(k.File(server), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Token(t.Context(), server); err == nil || !strings.Contains(err.Error(), "log in again") {
		t.Error(err)
	}
	if _, err := k.Drop(t.Context(), server); err != nil {
		t.Fatal(err)
	}
	if token, err := k.Token(t.Context(), server); token != "" || err != nil {
		t.Errorf("after a logout: %q %v", token, err)
	}
	if l, err := k.Drop(t.Context(), server); l != nil || err != nil {
		t.Errorf("a second logout: %v %v", l, err)
	}
}

// Commands that find the token over at the same time renew it once: the issuer ends a login whose refresh token comes twice.
func TestRenewalsAtOnce(t *testing.T) {
	i := ownca.NewIssuer(t)
	i.Life = 10 * time.Second // over, as far as commands go
	k := keptBy(t, i)
	first, err := k.Get(server)
	if err != nil {
		t.Fatal(err)
	}
	i.Now(func(l *ownca.Logins) { l.Life = time.Hour })
	var all sync.WaitGroup
	tokens := make([]string, 16)
	for n := range tokens {
		all.Go(func() {
			var err error
			if tokens[n], err = k.Token(t.Context(), server); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, token := range tokens {
		if token != tokens[0] || token == first.Token {
			t.Fatalf("not one new token: %q", tokens)
		}
	}
	i.Now(func(l *ownca.Logins) {
		if l.Renewed != 1 {
			t.Errorf("%d renewals", l.Renewed)
		}
	})
	l, err := k.Get(server)
	if err != nil || l.Refresh == first.Refresh || time.Until(l.Expires) < 50*time.Minute {
		t.Errorf("%+v %v", l, err)
	}
}

// A renewal that is refused ends the login; one that gets no answer does not, and a token that is still good is used meanwhile.
func TestRenewalFails(t *testing.T) {
	i := ownca.NewIssuer(t)
	i.Life = 10 * time.Second
	k := keptBy(t, i)
	i.Away.Store(true)
	was, err := k.Get(server)
	if err != nil {
		t.Fatal(err)
	}
	if token, err := k.Token(t.Context(), server); err != nil || token != was.Token {
		t.Errorf("%q %v", token, err)
	}
	over := *was
	over.Expires = time.Now().Add(-time.Minute)
	if err := k.Put(t.Context(), over); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Token(t.Context(), server); !errors.As(err, new(*Away)) {
		t.Error(err)
	}
	soon, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if token, err := k.Token(soon, server); err != nil || token != was.Token {
		t.Errorf("without time for a renewal: %q %v", token, err)
	}
	i.Away.Store(false)
	i.Now(func(l *ownca.Logins) { l.NoID, l.Life = true, time.Hour })
	token, err := k.Token(t.Context(), server)
	l, getErr := k.Get(server)
	if err = errors.Join(err, getErr); err != nil || token == was.Token || !l.Access {
		t.Fatalf("without an ID token: %q %+v %v", token, l, err)
	}
	i.End()
	l.Expires = over.Expires
	if err := k.Put(t.Context(), *l); err != nil {
		t.Fatal(err)
	}
	var ended *Ended
	if _, err := k.Token(t.Context(), server); !errors.As(err, &ended) || !ended.At.Equal(over.Expires) || !strings.HasPrefix(err.Error(), "your login at "+server+" ended at 2") {
		t.Error(err)
	}
	l.Refresh = ""
	if err := k.Put(t.Context(), *l); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Token(t.Context(), server); !errors.As(err, &ended) || ended.Why != nil {
		t.Error(err)
	}
}

// A login is waited for by one command at a time, and not for ever.
func TestLockIsBounded(t *testing.T) {
	k := Kept{t.TempDir()}
	unlock, err := k.lock(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	soon, cancel := context.WithTimeout(t.Context(), 3*lockEvery)
	defer cancel()
	if err := k.Put(soon, Login{Server: server}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// The issuer hears of a logout.
func TestRevoke(t *testing.T) {
	i := ownca.NewIssuer(t)
	k := keptBy(t, i)
	l, err := k.Drop(t.Context(), server)
	if err != nil || l == nil {
		t.Fatal(l, err)
	}
	if err := l.Revoke(t.Context()); err != nil {
		t.Fatal(err)
	}
	i.Now(func(now *ownca.Logins) {
		if len(now.Revoked) != 1 || now.Revoked[0] != l.Refresh {
			t.Errorf("revoked: %q", now.Revoked)
		}
	})
	i.Away.Store(true)
	if err := l.Revoke(t.Context()); !errors.As(err, new(*Away)) {
		t.Error(err)
	}
}

// A code counts for the browser alone that began.
func TestCode(t *testing.T) {
	i := ownca.NewIssuer(t)
	mine := Code{Client: clientOf(t, i), Back: "http://localhost/login/back", Secret: NewSecret()}
	to, err := mine.URL(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	back := func() (state, code string) {
		t.Helper()
		stay := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := stay.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		at, err := resp.Location()
		if err != nil {
			t.Fatal(err)
		}
		return at.Query().Get("state"), at.Query().Get("code")
	}
	other := mine
	other.Secret = NewSecret()
	state, code := back()
	if _, err := other.Token(t.Context(), state, code); !errors.Is(err, ErrState) {
		t.Errorf("another browser: %v", err)
	}
	if _, err := other.Token(t.Context(), other.part("state"), code); err == nil || !strings.Contains(err.Error(), "refuses: invalid_grant") {
		t.Errorf("another verifier: %v", err)
	}
	state, code = back()
	token, err := mine.Token(t.Context(), state, code)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mine.VerifySession(t.Context(), token, Nonce(mine.Session())); err != nil {
		t.Error(err)
	}
	if _, err := mine.VerifySession(t.Context(), token, Nonce(other.Session())); err == nil || !strings.Contains(err.Error(), "its nonce differs") {
		t.Errorf("another nonce: %v", err)
	}
	if _, err := mine.Token(t.Context(), state, code); err == nil || !strings.Contains(err.Error(), "refuses: invalid_grant") {
		t.Errorf("a code twice: %v", err)
	}
}
