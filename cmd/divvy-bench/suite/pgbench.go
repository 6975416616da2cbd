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

	"github.com/divvyhq/divvy/cmd/divvy-bench/figure"
	"github.com/divvyhq/divvy/cmd/divvy-bench/recount"
	"github.com/divvyhq/divvy/cmd/divvy-bench/stage"
	"github.com/divvyhq/divvy/internal/pg"
)

// clients are the numbers of connections of the rivals; the best of them counts.
var clients = []int{8, 32}

// pgbench is the floor of S1: one claim a transaction, FOR UPDATE SKIP LOCKED and an update of a row.
type pgbench struct {
	r       *run
	program string
	folder  string
	seconds int
}

// fastest is how many claims a second pgbench is not expected to exceed: its table must not run dry.
const fastest = 40_000

func newPgbench(ctx context.Context, r *run) (*pgbench, error) {
	b := &pgbench{r: r, seconds: max(1, int(r.Round.Seconds()+0.5))} // pgbench knows whole seconds only
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
	for _, n := range clients {
		r.Book.Command("pgbench %s", strings.Join(b.args(n, b.seconds, "claim.sql", "$DSN"), " "))
	}
	r.Book.Command("claim.sql, on %d rows: %s", b.rows(), strings.Join(strings.Fields(peer("floor_claim")), " "))
	return b, nil
}

func (b *pgbench) id() string   { return "S1" }
func (b *pgbench) what() string { return "pgbench" }
func (b *pgbench) remove()      { os.RemoveAll(b.folder) }

// rows of the table: as many as there are ready jobs, and enough for all rounds; in a brief run that alone, which
// makes a faster floor if anything, since more of it is in caches.
func (b *pgbench) rows() int {
	rows := b.r.Rounds * len(clients) * b.seconds * fastest
	if b.r.Brief {
		return rows
	}
	return max(rows, b.r.Ready)
}

func (b *pgbench) fill(ctx context.Context) error {
	b.r.Book.Say("making pgbench's table, %d rows", b.rows())
	_, err := b.r.Place.Pool.Exec(ctx, strings.ReplaceAll(peer("floor_make"), "{{rows}}", strconv.Itoa(b.rows())))
	return err
}

func (b *pgbench) args(clients, seconds int, script, dsn string) []string {
	return []string{"-n", "-M", "prepared", "-c", strconv.Itoa(clients), "-j", "2", "-T", strconv.Itoa(seconds), "-f", script, dsn}
}

// measure notes the best of the numbers of clients, in claims a second, and its processor time a claim. Dead rows are cleared away before, since
// they would make a floor that is slower than it has to be.
func (b *pgbench) measure(ctx context.Context, rounds *figure.Rounds) error {
	var best, effort float64
	for _, n := range clients {
		if _, err := b.r.Place.Pool.Exec(ctx, "VACUUM floor_jobs"); err != nil {
			return err
		}
		before, err := recount.Value[int64](ctx, b.r.Place.Pool, peer("floor_ready"))
		if err != nil {
			return err
		}
		said, spent, err := b.round(ctx, n)
		if err != nil {
			return err
		}
		after, err := recount.Value[int64](ctx, b.r.Place.Pool, peer("floor_ready"))
		if err != nil {
			return err
		}
		rate, err := said.claims(before - after)
		if err != nil {
			return err
		}
		if rate > best {
			best, effort = rate, stage.Micros(spent.Programs+spent.Postgres, int(before-after))
		}
	}
	rounds.Add("pgbench, one claim a transaction", "jobs/s", best)
	rounds.Add("processor time of pgbench and PostgreSQL a claim", "us", effort)
	return nil
}

func (b *pgbench) figure(mine, slow figure.Series, all *figure.Rounds) figure.Figure {
	floor := all.Of("pgbench, one claim a transaction")
	return figure.AtLeast("S1", "ratio", mine.Median/floor.Median, 6, mine, slow, floor, all.Of("processor time of pgbench and PostgreSQL a claim")).With(all.Of(b.r.Place.Effort()))
}

// round runs pgbench, and again for longer where it claimed nothing: on a busy machine a second can pass before it has connected.
func (b *pgbench) round(ctx context.Context, clients int) (r pgbenchResult, spent stage.Used, err error) {
	for seconds := b.seconds; ; seconds *= 2 {
		from := b.r.Place.Used()
		out, err := exec.CommandContext(ctx, b.program, b.args(clients, seconds, filepath.Join(b.folder, "claim.sql"), b.r.Place.DSN)...).CombinedOutput()
		if err != nil {
			return r, spent, fmt.Errorf("pgbench: %w: %s", err, out)
		}
		r, err = parsePgbench(string(out))
		if none := (*figure.Unmeasured)(nil); !errors.As(err, &none) || seconds >= 16*b.seconds {
			return r, b.r.Place.Used().Since(from), err
		}
	}
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
		return r, figure.TooShort("a round of pgbench claimed no job")
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
