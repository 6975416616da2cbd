//go:build issuer

package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// startIssuer runs an issuer that others wrote, and returns its address.
func startIssuer(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "issuer")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", file, ".")
	build.Dir, build.Env = "issuer", append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := exec.CommandContext(t.Context(), file)
	in, err := run.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log := &text{}
	run.Stderr = log
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = run.Wait()
		if t.Failed() {
			t.Logf("log of the issuer:\n%s", log.tail())
		}
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(address)
}

// person has a browser, without scripts.
type person struct {
	t    *testing.T
	http *http.Client
}

func newPerson(t *testing.T) person {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return person{t, &http.Client{Jar: jar}}
}

// open sends a form, or gets a page without one, and returns what came, and from where.
func (p person) open(address string, form url.Values) (text string, at *url.URL) {
	p.t.Helper()
	method, body := http.MethodGet, io.Reader(nil)
	if form != nil {
		method, body = http.MethodPost, strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(p.t.Context(), method, address, body)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Accept", "text/html")
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := p.http.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 400 {
		p.t.Fatalf("%s: %s %v\n%s", address, resp.Status, err, all)
	}
	return string(all), resp.Request.URL
}

// People log in at an issuer that knows nothing of divvy: at a terminal, renewed by commands that run at once, and on the page.
func TestIssuer(t *testing.T) {
	issuer := startIssuer(t)
	lines := filepath.Join(t.TempDir(), "issuers")
	if err := os.WriteFile(lines, []byte(issuer+" divvy login\n"+issuer+" divvy sub=id2 reader user:{preferred_username}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := start(t, environment(), "serve", "--database", pgtest.DSN(t), "--listen", "127.0.0.1:0", "--issuers", lines)
	at := d.says(t, `msg=serving url=(\S+)`)
	env := environment("XDG_CONFIG_HOME="+t.TempDir(), "DIVVY_SERVER="+at)

	login := start(t, env, "login", "-o", "json")
	complete := login.says(t, `or open (\S+)`)
	alice := newPerson(t)
	page, from := alice.open(complete, nil)
	code := regexp.MustCompile(`name="user_code" value="([^"]+)"`).FindStringSubmatch(page)
	if code == nil {
		t.Fatal(page)
	}
	who := url.Values{"username": {"test-user2"}, "password": {"verysecure"}}
	form := url.Values{"user_code": {code[1]}, "username": who["username"], "password": who["password"]}
	_, from = alice.open(from.ResolveReference(&url.URL{Path: "/device/login"}).String(), form)
	alice.open(from.ResolveReference(&url.URL{Path: "/device/confirm", RawQuery: "action=allowed"}).String(), nil)
	<-login.ended
	var me wire.Whoami
	if err := json.Unmarshal([]byte(login.out.String()), &me); login.err != nil || err != nil || me.Name != "test-user2" || me.Role != "reader" {
		t.Fatalf("%v %v\n%s%s", login.err, err, login.out.String(), login.log.String())
	}

	var all sync.WaitGroup // ID tokens of this issuer are always about to end
	for range 6 {
		all.Go(func() {
			for range 3 {
				whoami := exec.CommandContext(t.Context(), binary(t), "whoami", "-o", "json")
				whoami.Env = env
				out, err := whoami.CombinedOutput()
				if err != nil || !strings.Contains(string(out), `"name": "test-user2"`) {
					t.Errorf("%v\n%s", err, out)
				}
			}
		})
	}
	all.Wait()
	logout := exec.CommandContext(t.Context(), binary(t), "logout")
	logout.Env = env
	if out, err := logout.CombinedOutput(); err != nil || strings.Contains(string(out), "was not told") {
		t.Errorf("%v\n%s", err, out)
	}

	bob := newPerson(t)
	page, from = bob.open(at+"/login/start?next=/queues", nil)
	request := regexp.MustCompile(`name="id" value="([^"]+)"`).FindStringSubmatch(page)
	if request == nil {
		t.Fatalf("%s\n%s", from, page)
	}
	who.Set("id", request[1])
	if page, from = bob.open(issuer+"/login/username", who); from.Path != "/login/back" || !strings.Contains(page, "You are logged in") {
		t.Fatalf("%s\n%s", from, page)
	}
	if page, from = bob.open(at+"/queues", nil); from.Path != "/queues" || !strings.Contains(page, "Log out") {
		t.Errorf("%s\n%s", from, page)
	}
}
