package serve

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/internal/access"
)

// What is open when a token is revoked ends: a pull that waits, and the page's stream of events.
func TestRevokeEndsWhatIsOpen(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "root.token")
	if err := os.WriteFile(file, []byte("root-token-0123456789\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, _ := startDaemon(t, func(c *config.Config) { c.Access.TokenFile = file })
	token := func(name, role string) string {
		m, err := d.callers.tokens.Create(t.Context(), access.New{Name: name, Role: access.Role(role), By: "test"})
		if err != nil {
			t.Fatal(err)
		}
		return m.Text
	}
	ask := func(method, path, body, token string) *http.Response { // as soon as the token is known
		var resp *http.Response
		servetest.Eventually(t, 7*time.Second, func() (bool, string) {
			req, err := http.NewRequestWithContext(t.Context(), method, d.URL()+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+token)
			if resp, err = http.DefaultClient.Do(req); err != nil {
				t.Error(err)
				return true, ""
			}
			if resp.StatusCode == http.StatusUnauthorized && method == http.MethodGet {
				resp.Body.Close()
				return false, "the token is not let in"
			}
			return true, ""
		})
		return resp
	}
	defer http.DefaultClient.CloseIdleConnections()
	cern, alice := token("cern", "pilot"), token("alice", "reader")
	stream := ask(http.MethodGet, "/events?of=/", "", alice)
	defer stream.Body.Close()
	_ = ask(http.MethodGet, "/v1/status", "", cern).Body.Close()
	status, streamed := make(chan int, 1), make(chan error, 1)
	go func() {
		resp := ask(http.MethodPost, "/v1/pulls", `{"queue":"LOCAL","pilot":"p","wait_s":200}`, cern)
		resp.Body.Close()
		status <- resp.StatusCode
	}()
	go func() {
		_, err := io.Copy(io.Discard, stream.Body)
		streamed <- err
	}()
	statusOf := func() string {
		resp := ask(http.MethodGet, "/v1/status", "", "root-token-0123456789")
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Error(err)
		}
		return string(body)
	}
	servetest.Eventually(t, 10*time.Second, func() (bool, string) {
		return strings.Contains(statusOf(), `"waiting_pulls":1`), "the pull does not wait"
	})
	for _, name := range []string{"cern", "alice"} {
		if _, err := d.callers.tokens.Revoke(t.Context(), name, "test"); err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	if got := <-status; got != http.StatusUnauthorized {
		t.Errorf("the pull that waited: %d", got)
	}
	if err := <-streamed; err != nil {
		t.Errorf("the stream: %v", err)
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("they went on for %v", took)
	}
}
