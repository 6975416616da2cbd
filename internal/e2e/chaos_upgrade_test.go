//go:build chaos

package e2e

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
)

// The release before runs beside the program under test, on one database and under load: the schema is brought up below
// daemons of the release, these go one by one for new ones, back to the release, and again for new ones. Each pairing has
// an old daemon or a new one decide, and the other one hand on to it. With DIVVY_LONG there are three daemons.
func TestUpgrade(t *testing.T) {
	was := goleak.IgnoreCurrent()
	t.Run("play", func(t *testing.T) {
		from := previous(t)
		if from.migration == 0 {
			t.Logf("%s has migrations of before the baseline: the next release is the first that can be upgraded from", from.name)
			return
		}
		began := time.Now()
		f := fault{name: "upgrade", what: "daemons of the release before and new ones, one by one, on a schema that is brought up below them; and back", file: from.build(t), pilots: 12}
		t.Logf("%s built in %v", from.name, time.Since(began).Round(time.Millisecond))
		if long() {
			f.daemons, f.pilots = 3, 24
		}
		f.strike = func(t *testing.T, c *chaosPlay) { (&upgrade{chaosPlay: c, from: from}).play(t, f.file) }
		f.play(t, chaosCluster(t, ""))
	})
	goleak.VerifyNone(t, was)
}

// upgrade is the play of TestUpgrade.
type upgrade struct {
	*chaosPlay
	from   release
	stages int
}

func (u *upgrade) play(t *testing.T, old string) {
	if n := u.schema(t); n != u.from.migration {
		t.Fatalf("the schema of %s is at %d, .ci/releases says %d", u.from.name, n, u.from.migration)
	}
	u.stage(t, "the schema is brought up", func() {
		u.migrate(t)
		if n, newest := u.schema(t), newestOf(t, "HEAD"); n < newest {
			t.Errorf("the schema is at %d, want %d", n, newest)
		}
	})
	for round, file := range []string{binary(t), old, binary(t)} {
		if round > 0 && !long() {
			u.stage(t, "all daemons change, one behind the other", func() { u.change(t, file, u.links...) })
			continue
		}
		for i, l := range u.links {
			u.stage(t, fmt.Sprintf("round %d: daemon %d changes", round+1, i+1), func() { u.change(t, file, l) })
		}
	}
}

// stage makes a change, and hands in work until every daemon has leased some and recorded its end since.
func (u *upgrade) stage(t *testing.T, what string, change func()) {
	t.Helper()
	u.stages++
	u.strike()
	change()
	u.heal()
	silent := []string{what}
	for more := 0; len(silent) > 0; more++ {
		if more == 50 {
			t.Fatalf("%s: %s", what, strings.Join(silent, "; "))
		}
		ends := u.progress.Load()
		u.submit(t, []work{{share: "Prod/MC", user: fmt.Sprint("stage", u.stages, ".", more), kind: "ok", part: 80}})
		eventually(t, time.Minute, what+", and work goes on", func() bool { return u.progress.Load() >= ends+100 })
		_, silent = u.recovery(u.history.list())
	}
	t.Logf("%s: %v; %d ends, and served by all after %v", what, time.Duration(u.healed-u.struck).Round(time.Millisecond), u.progress.Load(),
		time.Duration(wall()-u.healed).Round(time.Millisecond))
}

// change stops daemons in order and starts the program in their place.
func (u *upgrade) change(t *testing.T, file string, links ...*link) {
	t.Helper()
	for _, l := range links {
		l.stops(t)
		u.calmLog(t, l)
		l.file = file
		u.start(t, l)
		want := versionOf(t, file)
		s, err := l.client.Daemon().Status(t.Context())
		if err != nil || s.Build != want {
			t.Errorf("the daemon says that it is %q, %v; want %s", s.Build, err, want)
		}
		if got := u.newest(t); got != want {
			t.Errorf("the table of daemons says %q, want %s", got, want)
		}
	}
}

// calmLog fails when a daemon has complained: of a schema that it does not know, first of all.
func (u *upgrade) calmLog(t *testing.T, l *link) {
	t.Helper()
	for line := range strings.Lines(l.log.String()) {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "SQLSTATE 42") {
			t.Errorf("%s: %s", versionOf(t, l.file), line)
		}
	}
}

// migrate brings the schema up by the command, as an operator may before any daemon changes.
func (u *upgrade) migrate(t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary(t), "migrate", "up", "--database", u.dsn)
	cmd.Env = environment()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("migrate up: %v\n%s", err, out)
	}
	t.Logf("migrate up: %s", strings.ReplaceAll(strings.TrimSpace(string(out)), "\n", ", "))
}

// schema is the newest migration that was applied.
func (u *upgrade) schema(t *testing.T) (n int64) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), u.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), "SELECT max(version_id) FROM migrations").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// newest is the version of the youngest daemon, as its row has it.
func (u *upgrade) newest(t *testing.T) (version string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), u.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), "SELECT version FROM daemons ORDER BY id DESC LIMIT 1").Scan(&version); err != nil {
		t.Fatal(err)
	}
	return version
}

// versionOf is what a program says of itself.
func versionOf(t *testing.T, file string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), file, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(strings.TrimPrefix(string(out), "divvy version"))
}
