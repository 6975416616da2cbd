package hooks

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/internal/pgtest"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/internal/site/file"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

const key = "a secret of the test"

// receiver takes messages. answer says what it answers to each; nil: 200.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	got    []string // ids, in the order in which they came
	bodies []string
}

func newReceiver(t *testing.T, answer func(n int, r *http.Request) int) *receiver {
	t.Helper()
	rec := &receiver{}
	rec.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		id, at := r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp")
		if r.Header.Get("webhook-signature") != sign([]byte(key), id, at, string(body)) {
			t.Errorf("a wrong signature: %v", r.Header)
		}
		if s, err := strconv.ParseInt(at, 10, 64); err != nil || time.Since(time.Unix(s, 0)).Abs() > time.Minute {
			t.Errorf("signed at %q", at)
		}
		rec.mu.Lock()
		rec.got, rec.bodies = append(rec.got, id), append(rec.bodies, string(body))
		n := len(rec.got)
		rec.mu.Unlock()
		if answer != nil {
			w.WriteHeader(answer(n, r))
		}
	}))
	t.Cleanup(rec.Close)
	return rec
}

func (r *receiver) ids() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// heard says whether a message has the text.
func (r *receiver) heard(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.bodies, func(body string) bool { return strings.Contains(body, text) })
}

// stage is a database with a share, and what stands in it.
type stage struct {
	t        *testing.T
	db       *pgxpool.Pool
	secret   string
	hooks    []file.Webhook
	standing dispatcher.Standing
	queues   []dispatcher.QueueStanding
	log      strings.Builder
	mu       sync.Mutex
	tasks    int64
}

func (s *stage) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(p)
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, db: pgtest.Open(t), secret: filepath.Join(t.TempDir(), "secret")}
	if err := os.WriteFile(s.secret, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.exec(`INSERT INTO shares (name, path, position, leaf, weight) VALUES ('A', 'A', 0, true, 1)`)
	return s
}

func (s *stage) exec(sql string) {
	s.t.Helper()
	if _, err := s.db.Exec(s.t.Context(), sql); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) hook(name string, r *receiver) {
	s.hooks = append(s.hooks, file.Webhook{Name: name, URL: r.URL, SecretFile: s.secret})
}

// daemon makes Hooks as a daemon that leads has them, with attempts that follow at once.
func (s *stage) daemon() *Hooks {
	h := New(Config{DB: s.db, Load: func(context.Context) (*site.Site, error) {
		return &site.Site{Content: file.Content{Webhooks: s.hooks}, Number: int64(1 + len(s.hooks))}, nil
	},
		Leads: func() bool { return true }, Standing: func() dispatcher.Standing { return s.standing },
		Queues: func() []dispatcher.QueueStanding { return s.queues }, Registry: prometheus.NewRegistry(), Log: slog.New(slog.NewTextHandler(s, nil))})
	h.first = time.Millisecond
	s.t.Cleanup(h.Stop)
	return h
}

// end ends a task of a user.
func (s *stage) end(user, state string) {
	s.t.Helper()
	s.tasks++
	s.exec(fmt.Sprintf(`INSERT INTO tasks (id, name, user_name, state, share_id, spec) OVERRIDING SYSTEM VALUE SELECT %[1]d, 'sim', '%[2]s', 'running', id, '{}' FROM shares WHERE path = 'A';
		UPDATE tasks SET state = '%[3]s', ended_at = now() WHERE id = %[1]d`, s.tasks, user, state))
}

// step makes steps until ok.
func (s *stage) step(h *Hooks, ok func() bool) {
	s.t.Helper()
	tick, over := time.NewTicker(5*time.Millisecond), time.After(30*time.Second)
	defer tick.Stop()
	for !ok() {
		h.looked = time.Time{}
		if _, err := h.Step(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
		select {
		case <-tick.C:
		case <-over:
			s.t.Fatalf("it does not come to that; log: %s", s.log.String())
		}
	}
}

func (s *stage) rows() (n int) {
	s.t.Helper()
	if err := s.db.QueryRow(s.t.Context(), "SELECT count(*) FROM webhook_messages").Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// Who wants to is told once, of what happened since the site has it.
func TestTold(t *testing.T) {
	s := newStage(t)
	all, alice := newReceiver(t, nil), newReceiver(t, nil)
	h := s.daemon()
	s.end("alice", "done") // before anybody was to be told
	s.hook("all", all)
	s.hook("alice", alice)
	s.hooks[1].Events, s.hooks[1].Users, s.hooks[1].Shares = []string{"task.failed"}, []string{"al*"}, []string{"A"}
	s.step(h, func() bool { return len(h.all) == len(s.hooks) })
	s.end("alice", "failed")
	s.end("bob", "failed")
	s.end("alice", "done")
	s.step(h, func() bool { return len(all.ids()) == 3 && len(alice.ids()) == 1 && s.rows() == 0 })
	var said struct {
		Type      string
		Timestamp time.Time
		Data      struct {
			Task              int64
			State, User, Name string
			Share             string
		}
	}
	if err := json.Unmarshal([]byte(alice.bodies[0]), &said); err != nil || said.Type != "task.failed" || said.Data.Task != 2 || said.Data.User != "alice" || said.Data.Share != "A" || said.Timestamp.IsZero() {
		t.Errorf("%s %v", alice.bodies[0], err)
	}
	if n := testutil.ToFloat64(h.told.WithLabelValues("all", "told")); n != 3 {
		t.Errorf("%g were told", n)
	}
	s.hooks = s.hooks[:1]
	s.step(h, func() bool { return len(h.all) == 1 })
	s.hooks = nil
	s.step(h, func() bool { return !h.known })
	s.end("alice", "failed")
	var noted int
	if err := s.db.QueryRow(t.Context(), "SELECT count(*) FROM webhook_tasks").Scan(&noted); err != nil || noted != 0 {
		t.Errorf("%d tasks are noted for nobody, %v", noted, err)
	}
	s.exec("INSERT INTO webhook_tasks (task, state) VALUES (2, 'failed')") // by a transaction that went on while the last receiver left
	late := newReceiver(t, nil)
	s.hook("late", late)
	s.step(h, func() bool { return len(h.all) == 1 })
	s.end("alice", "failed")
	s.step(h, func() bool { return late.heard(fmt.Sprintf(`"task":%d,`, s.tasks)) && s.rows() == 0 })
	if n := len(late.ids()); n != 1 {
		t.Errorf("who came later was told of %d ends", n)
	}
}

// A receiver that fails is told again, with the same id.
func TestRetried(t *testing.T) {
	s := newStage(t)
	r := newReceiver(t, func(n int, _ *http.Request) int { return []int{500, 307, 503, 204}[min(n, 4)-1] })
	s.hook("r", r)
	h := s.daemon()
	s.step(h, func() bool { return len(h.all) == len(s.hooks) })
	s.end("alice", "failed")
	s.step(h, func() bool { return s.rows() == 0 && len(r.ids()) > 0 })
	if ids := r.ids(); len(ids) != 4 || len(slices.Compact(ids)) != 1 {
		t.Errorf("attempts at %q", ids)
	}
	if n := testutil.ToFloat64(h.told.WithLabelValues("r", "failed")); n != 3 || !strings.Contains(s.log.String(), "it answers 503") || strings.Contains(s.log.String(), key) {
		t.Errorf("%g failed; log: %s", n, s.log.String())
	}
}

// A daemon that dies between the answer of a receiver and its note of it has the next one tell the same message again.
func TestDaemonDies(t *testing.T) {
	s := newStage(t)
	var first *Hooks
	r := newReceiver(t, func(n int, _ *http.Request) int {
		if n == 1 {
			first.end()
		}
		return 200
	})
	s.hook("r", r)
	first = s.daemon()
	s.step(first, func() bool { return len(first.all) > 0 })
	s.end("alice", "failed")
	s.step(first, func() bool { return len(r.ids()) == 1 })
	first.Stop()
	if s.rows() != 1 {
		t.Fatal("the message is gone")
	}
	second := s.daemon()
	s.step(second, func() bool { return s.rows() == 0 })
	if ids := r.ids(); len(ids) != 2 || ids[0] != ids[1] {
		t.Errorf("attempts at %q", ids)
	}
}

// A receiver that does not answer holds up no other. What it has not taken in a day, or is too much, is given up aloud.
func TestDeadReceiver(t *testing.T) {
	s := newStage(t)
	over := make(chan struct{})
	dead := newReceiver(t, func(_ int, r *http.Request) int {
		select {
		case <-over:
		case <-r.Context().Done():
		}
		return 500
	})
	t.Cleanup(func() { close(over) }) // before the receiver closes
	good := newReceiver(t, nil)
	s.hook("dead", dead)
	s.hook("good", good)
	h := s.daemon()
	h.most = 5
	s.step(h, func() bool { return len(h.all) == len(s.hooks) })
	s.end("alice", "failed")
	s.step(h, func() bool { return len(dead.ids()) == 1 })
	for n := range 9 {
		s.end("alice", "failed")
		s.step(h, func() bool { return len(good.ids()) == n+2 })
	}
	s.step(h, func() bool { return s.rows() == 5 })
	if n := testutil.ToFloat64(h.told.WithLabelValues("dead", "dropped")); n != 5 || !strings.Contains(s.log.String(), "given up") {
		t.Errorf("%g were dropped; log: %s", n, s.log.String())
	}
	s.exec("UPDATE webhook_messages SET made_at = made_at - interval '25 hours'")
	s.step(h, func() bool { return s.rows() == 0 })
	if n := testutil.ToFloat64(h.told.WithLabelValues("dead", "dropped")); n != 10 {
		t.Errorf("%g were dropped", n)
	}
}

// What lasts is told once, whoever leads, and again when it begins again.
func TestLasting(t *testing.T) {
	s := newStage(t)
	r := newReceiver(t, nil)
	s.hook("r", r)
	broken := []dispatcher.QueueStanding{{}}
	broken[0].Name, broken[0].BlackHole = "CERN", &explain.BlackHoleStanding{Since: time.Now(), Ends: 9, Fails: 9}
	starving := dispatcher.Standing{Pools: []explain.PoolStanding{{Pool: "default", Held: 8, Shares: []explain.ShareStanding{{Place: explain.Place{Path: "A", Leaf: true}, Target: 4, Ready: 2}}}}}
	s.queues, s.standing = broken, starving
	h := s.daemon()
	s.step(h, func() bool { return len(r.ids()) == 1 }) // the share has not starved for long enough
	h.starved["A default"] = time.Now().Add(-starvesFor)
	s.step(h, func() bool { return len(r.ids()) == 2 })
	next := s.daemon()
	next.starved["A default"] = time.Now().Add(-starvesFor)
	s.step(next, func() bool { return len(next.noted) == 2 })
	if got := strings.Join(r.bodies, "\n"); len(r.ids()) != 2 || !strings.Contains(got, `"queue":"CERN"`) || !strings.Contains(got, `"share":"A"`) {
		t.Errorf("%s", got)
	}
	s.queues = nil
	s.step(next, func() bool { return s.rows() == 1 })
	s.queues = broken
	s.step(next, func() bool { return len(r.ids()) == 3 })
}

// A secret is a text, or what Standard Webhooks writes.
func TestSecret(t *testing.T) {
	t.Setenv("HOOK", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	k, err := secret(file.Webhook{SecretEnv: "HOOK"})
	if err != nil {
		t.Fatal(err)
	}
	// The example of the specification.
	if got := sign(k, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", `{"test": 2432232314}`); got != "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Error(got)
	}
	t.Setenv("HOOK", "whsec_?")
	for name, w := range map[string]file.Webhook{"no base64": {SecretEnv: "HOOK"}, "no file": {SecretFile: filepath.Join(t.TempDir(), "none")}, "empty": {SecretEnv: "NO_SUCH_HOOK"}} {
		if _, err := secret(w); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
