//go:build chaos

package e2e

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/internal/chaos"
	"github.com/divvyhq/divvy/internal/pg"
)

// chaosLicences is how many units of the resource of the plays there are.
const chaosLicences = 6

var chaosSite = fmt.Sprintf(`%s
resources:
  - {name: licence, capacity: %d}
`, strings.Replace(killsSite, "  - {name: Test,", "  - {name: Lab, weight: 5}\n  - {name: Test,", 1), chaosLicences)

// chaosPlan is there when something goes wrong; chaosAfter comes when it is over.
var chaosPlan = []work{
	{share: "Prod/MC", user: "alice", kind: "ok", priority: 900, part: 500},
	{share: "Prod/Rep", user: "carol", kind: "flaky", priority: 500, part: 150},
	{share: "Prod/Val", user: "carol", kind: "ok", priority: 500, part: 50, queues: []string{"SMALL"}},
	{share: "Ana/User", user: "erin", kind: "ok", priority: 10, part: 120, cores: 2},
	{share: "Ana/User", user: "mallory", kind: "bad", part: 6, attempts: 3},
	{share: "Ana/Grp", user: "frank", kind: "flaky", part: 100},
	{share: "Test", user: "grace", kind: "ok", part: 30},
	{share: "Lab", user: "ada", kind: "ok", part: 40, resources: map[string]int64{"licence": 1}},
	{share: "Lab", user: "bea", kind: "ok", part: 4, claimed: "licence"},
}

var chaosAfter = []work{
	{share: "Prod/MC", user: "judy", kind: "ok", part: 200},
	{share: "Ana/Grp", user: "heidi", kind: "flaky", part: 100},
	{share: "Prod/Val", user: "ivan", kind: "ok", part: 20, queues: []string{"SMALL"}},
	{share: "Lab", user: "ada", kind: "ok", part: 10, resources: map[string]int64{"licence": 2}},
}

// chaosPlay is a storm of one fault, with wires between all processes.
type chaosPlay struct {
	*storm
	links  []*link
	db     [2]string   // network and address of the server
	home   *chaos.Wire // what dsn goes by, where the server moves
	name   string      // of the database, and
	user   string      // who owns it
	disk   string      // mount point of the database's own disk, if it has one
	struck int64       // when it went wrong, and
	healed int64       // when nothing was wrong any more but for what had come of it
}

// link is a daemon, with the wires that lead to it and from it.
type link struct {
	*daemon
	front, db, relay *chaos.Wire
	courier          *chaos.Courier // nil: none
	clock            hostClock      // "": that of this machine
	url              string         // for pilots
	file             string         // of the program that runs there
}

// playNumber makes names of databases.
var playNumber atomic.Int64

// newPlay makes a database on the cluster of the play and starts daemons.
func newPlay(t *testing.T, cluster *pg.Cluster, f fault) *chaosPlay {
	t.Helper()
	c := &chaosPlay{storm: &storm{t: t, seed: seedOf(t), jobs: cmp.Or(f.jobs, 1500), mayVanish: 5, pace: 60, doubtful: f.courier, leaps: f.leaps, tasks: map[int64]work{}, cluster: cluster}}
	if f.vanish > 0 {
		c.mayVanish = f.vanish
	}
	c.name = fmt.Sprintf("chaos_%d", playNumber.Add(1))
	admin(t, cluster.DSN(), "CREATE DATABASE "+c.name)
	u, err := url.Parse(cluster.DSN())
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + c.name
	c.dsn, c.user = u.String(), u.Query().Get("user")
	c.db = [2]string{"unix", path.Join(u.Query().Get("host"), ".s.PGSQL."+u.Query().Get("port"))}
	if f.moves {
		c.home = c.wire(t, 1000)
		c.home.Target(c.db[0], c.db[1])
		c.dsn = fmt.Sprintf("postgres://%s/%s?user=%s&sslmode=disable", c.home.Addr(), c.name, c.user)
	}
	for range max(2, f.daemons) {
		c.link(t, f)
	}
	apply(t, c.fleet.oldest().client, chaosSite)
	return c
}

// admin runs one statement.
func admin(t *testing.T, dsn, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// link lays the wires of one more daemon and starts it.
func (c *chaosPlay) link(t *testing.T, f fault) {
	t.Helper()
	l := &link{file: cmp.Or(f.file, binary(t))}
	for i, w := range []**chaos.Wire{&l.front, &l.db, &l.relay} {
		*w = c.wire(t, 10*len(c.links)+i)
	}
	l.db.Target(c.db[0], c.db[1])
	l.url = "http://" + l.front.Addr()
	if f.courier {
		l.courier = chaos.NewCourier(l.url, c.seed+uint64(len(c.links)))
		server := httptest.NewServer(l.courier)
		t.Cleanup(func() { server.Close(); l.courier.Close() })
		l.url = server.URL
	}
	if f.leaping {
		l.clock = newHostClock(t)
	}
	c.links = append(c.links, l)
	l.daemon = &daemon{client: clientOf(t, l.url, func(c *client.Config) { c.Stay = !f.follow })}
	c.start(t, l)
	c.fleet.add(l.daemon)
}

// wire is the n-th of the play.
func (c *chaosPlay) wire(t *testing.T, n int) *chaos.Wire {
	t.Helper()
	wire, err := chaos.NewWire(c.seed + uint64(n))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := wire.Close(); err != nil {
			t.Error(err)
		}
	})
	return wire
}

// start starts a daemon, or another one in the place of one that has ended.
func (c *chaosPlay) start(t *testing.T, l *link) {
	t.Helper()
	file, env := l.file, environment()
	if l.clock != "" {
		file, env = leapingBinary(t), append(env, clockFile+"="+string(l.clock))
	}
	p := startOf(t, file, env, "serve", "--database", fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", c.user, l.db.Addr(), c.name),
		"--listen", "127.0.0.1:0", "--advertise", l.relay.Addr(), "--lease-first", leaseFirst.String(), "--lease-ttl", leaseTTL.String(),
		"--lease-renew", leaseRenew.String(), "--connections", "10")
	u, err := url.Parse(p.says(t, `msg=serving url=(\S+)`))
	if err != nil {
		t.Fatal(err)
	}
	l.program = p
	l.front.Target("tcp", u.Host)
	l.relay.Target("tcp", u.Host)
}

// strike notes the moment from which on something is wrong, and heal that from which on nothing is.
func (c *chaosPlay) strike() { c.struck, c.healed = wall(), 0 }
func (c *chaosPlay) heal()   { c.healed = wall() }

// busyWhile submits more work before it runs out, until what lasts is over: where nobody has work, nobody can show that he serves.
func (c *chaosPlay) busyWhile(t *testing.T, lasts func()) {
	t.Helper()
	over := make(chan struct{})
	go func() {
		defer close(over)
		lasts()
	}()
	for more := 0; ; {
		select {
		case <-over:
			if t.Failed() {
				t.FailNow()
			}
			return
		case <-time.After(50 * time.Millisecond):
		}
		if int(c.progress.Load()) > c.total-500 {
			c.submit(t, []work{{share: "Prod/MC", user: fmt.Sprint("meanwhile", more), kind: "ok", part: 200}})
			more++
		}
	}
}

// run is one play: work, the fault in the midst of it, more work, and the verdict.
func (c *chaosPlay) run(t *testing.T, f fault) result {
	audit := &auditor{dsn: c.dsn, more: heldCounts}
	watch, unwatch := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { audit.run(watch) })
	ctx, over := context.WithTimeout(t.Context(), 3*time.Minute)
	defer over()
	began := time.Now()
	c.submit(t, chaosPlan)
	pilots := max(24, f.pilots)
	for n := range pilots {
		c.work.Go(func() { c.pilots(ctx, n) })
	}
	c.reach(t, 50)
	c.strike()
	f.strike(t, c)
	if c.healed == 0 {
		c.heal()
	}
	t.Logf("%s: %v, at %d of %d ends", f.name, time.Duration(c.healed-c.struck).Round(time.Millisecond), c.progress.Load(), c.total)
	c.submit(t, chaosAfter)
	c.awaitTasks(t)
	for more := range 5 { // where many pilots wait, those of one daemon may have come before all of another's
		if _, silent := c.recovery(c.history.list()); len(silent) == 0 {
			break
		}
		c.submit(t, []work{{share: "Prod/MC", user: fmt.Sprint("more", more), kind: "ok", part: 400}})
		c.awaitTasks(t)
	}
	over()
	c.work.Wait()
	c.quiet(t)
	for _, l := range c.links {
		l.stops(t)
	}
	unwatch()
	watching.Wait()
	t.Logf("%d jobs in %v", c.total, time.Since(began).Round(time.Millisecond))
	return c.judge(t, audit, f)
}

// quiet waits until nothing of an unreliable courier is under way, leases that nobody heard of have run out, and the log has all that was written
// for it. What is written while daemons stop waits in the outbox for the next start.
func (c *chaosPlay) quiet(t *testing.T) {
	t.Helper()
	for _, l := range c.links {
		if l.courier != nil {
			l.courier.Unreliable.Store(false)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	eventually(t, 20*time.Second, "no lease is left, and no row of the outbox", func() bool {
		var held, rows int
		err := conn.QueryRow(ctx, "SELECT (SELECT count(*) FROM held), (SELECT count(*) FROM outbox WHERE refused IS NULL)").Scan(&held, &rows)
		if err != nil {
			t.Fatal(err)
		}
		return held == 0 && rows == 0
	})
	folded(t, c.dsn)
}

// deciding is the daemon that leads.
func (c *chaosPlay) deciding(t *testing.T) (leader *link) {
	t.Helper()
	eventually(t, time.Minute, "one of ours leads", func() bool {
		pid := c.leading(t)
		for _, l := range c.links {
			if l.cmd.Process.Pid == pid && !l.over() {
				leader = l
			}
		}
		return leader != nil
	})
	return leader
}

// kill ends the process of a daemon; the address stays, and resets whoever comes.
func (l *link) kill(t *testing.T) {
	t.Helper()
	l.front.Target("", "")
	l.relay.Target("", "")
	if err := l.end(t, syscall.SIGKILL); err == nil {
		t.Error("a killed daemon ended well")
	}
}

// chaosCluster starts a PostgreSQL that a play may harm, with its state where it says: "" is a temporary folder.
func chaosCluster(t *testing.T, dir string) *pg.Cluster {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	settings := map[string]string{"shared_buffers": "128MB", "max_connections": "300", "max_wal_size": "64MB", "min_wal_size": "32MB"}
	cluster, err := pg.StartCluster(ctx, pg.ClusterConfig{StateDir: dir, Ephemeral: dir == "", NoFsync: true, Log: slog.New(slog.DiscardHandler), Settings: settings})
	if err != nil {
		t.Fatal(err)
	}
	stopLater(t, cluster)
	return cluster
}
