package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/divvyhq/divvy/internal/pg"
)

// pgbench is the floor of S1: one claim a transaction, FOR UPDATE SKIP LOCKED and an update of a row.
type pgbench struct {
	s       *stage
	program string
	folder  string
	clients []int
	seconds int
}

// fastest is how many claims a second pgbench is not expected to exceed: its table must not run dry.
const fastest = 40_000

func (s *stage) newPgbench(ctx context.Context) (*pgbench, error) {
	b := &pgbench{s: s, clients: []int{8, 32}, seconds: max(1, int(s.Round.Seconds()+0.5))} // pgbench knows whole seconds only
	var err error
	if b.program, _, err = pg.Program(ctx, "pgbench"); err != nil {
		return nil, fmt.Errorf("S1 needs pgbench: %w", err)
	}
	if b.folder, err = os.MkdirTemp("", "divvy-bench-"); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(b.folder, "claim.sql"), []byte(peer("floor_claim")), 0o600); err != nil {
		b.remove()
		return nil, err
	}
	for _, n := range b.clients {
		s.command("pgbench " + strings.Join(b.args(n, b.seconds, "claim.sql", "$DSN"), " "))
	}
	s.command(fmt.Sprintf("claim.sql, on %d rows: %s", b.rows(), strings.Join(strings.Fields(peer("floor_claim")), " ")))
	return b, nil
}

// rows of the table: as many as there are ready jobs, and enough for all rounds; in a brief run that alone, which
// makes a faster floor if anything, since more of it is in caches.
func (b *pgbench) rows() int {
	rows := b.s.Rounds * len(b.clients) * b.seconds * fastest
	if b.s.Brief {
		return rows
	}
	return max(rows, b.s.Ready)
}

// fill makes the table.
func (b *pgbench) fill(ctx context.Context) error {
	b.s.say("making pgbench's table, %d rows", b.rows())
	_, err := b.s.place.pool.Exec(ctx, strings.ReplaceAll(peer("floor_make"), "{{rows}}", strconv.Itoa(b.rows())))
	return err
}

func (b *pgbench) remove() { os.RemoveAll(b.folder) }

func (b *pgbench) args(clients, seconds int, script, dsn string) []string {
	return []string{"-n", "-M", "prepared", "-c", strconv.Itoa(clients), "-j", "2", "-T", strconv.Itoa(seconds), "-f", script, dsn}
}

// measure is the best of the numbers of clients, in claims a second, and its processor time a claim in us. Dead rows are cleared away before, since they
// would make a floor that is slower than it has to be.
func (b *pgbench) measure(ctx context.Context) (best, effort float64, err error) {
	for _, clients := range b.clients {
		if _, err := b.s.place.pool.Exec(ctx, "VACUUM floor_jobs"); err != nil {
			return 0, 0, err
		}
		before, err := b.ready(ctx)
		if err != nil {
			return 0, 0, err
		}
		r, spent, err := b.round(ctx, clients)
		if err != nil {
			return 0, 0, err
		}
		after, err := b.ready(ctx)
		if err != nil {
			return 0, 0, err
		}
		rate, err := r.claims(before - after)
		if err != nil {
			return 0, 0, err
		}
		if rate > best {
			best, effort = rate, micros(spent.programs+spent.postgres, int(before-after))
		}
	}
	return best, effort, nil
}

// round runs pgbench, and again for longer where it claimed nothing: on a busy machine a second can pass before it has connected.
func (b *pgbench) round(ctx context.Context, clients int) (r pgbenchResult, spent used, err error) {
	for seconds := b.seconds; ; seconds *= 2 {
		from := b.s.used()
		out, err := exec.CommandContext(ctx, b.program, b.args(clients, seconds, filepath.Join(b.folder, "claim.sql"), b.s.place.dsn)...).CombinedOutput()
		if err != nil {
			return r, spent, fmt.Errorf("pgbench: %w: %s", err, out)
		}
		r, err = parsePgbench(string(out))
		if none := (*unmeasured)(nil); !errors.As(err, &none) || seconds >= 16*b.seconds {
			return r, b.s.used().since(from), err
		}
	}
}

func (b *pgbench) ready(ctx context.Context) (n int64, err error) {
	err = b.s.place.pool.QueryRow(ctx, peer("floor_ready")).Scan(&n)
	return n, err
}

// pgbenchResult is what pgbench says in the end.
type pgbenchResult struct {
	transactions int64
	tps          float64
}

var (
	pgbenchTPS   = regexp.MustCompile(`(?m)^tps = ([0-9.]+) \(without initial connection time\)`)
	pgbenchCount = regexp.MustCompile(`(?m)^number of transactions actually processed: (\d+)`)
	pgbenchFails = regexp.MustCompile(`(?m)^number of failed transactions: (\d+)`)
)

func parsePgbench(out string) (r pgbenchResult, err error) {
	tps, count := pgbenchTPS.FindStringSubmatch(out), pgbenchCount.FindStringSubmatch(out)
	switch fails := pgbenchFails.FindStringSubmatch(out); {
	case fails != nil && fails[1] != "0":
		return r, fmt.Errorf("pgbench: %s transactions failed", fails[1])
	case count != nil && count[1] == "0": // without transactions it says no rate
		return r, &unmeasured{"a round of pgbench claimed no job: " + tooShort}
	case tps == nil || count == nil:
		return r, fmt.Errorf("pgbench: cannot read its output: %s", out)
	}
	if r.tps, err = strconv.ParseFloat(tps[1], 64); err == nil {
		r.transactions, err = strconv.ParseInt(count[1], 10, 64)
	}
	return r, err
}

// claims is the rate of those transactions that found a job. Too many that did not are no floor to measure by.
func (r pgbenchResult) claims(found int64) (perSecond float64, err error) {
	part := float64(found) / float64(r.transactions)
	if part < 0.99 || part > 1 {
		return 0, fmt.Errorf("pgbench: %d transactions claimed %d jobs: its table ran dry", r.transactions, found)
	}
	return r.tps * part, nil
}
