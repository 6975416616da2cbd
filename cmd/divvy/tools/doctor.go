package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/offline"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/dispatcher/link"
	"github.com/divvyhq/divvy/internal/doctor"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/relay"
	"github.com/divvyhq/divvy/internal/site"
)

// Exit codes of doctor, by the worst finding that was not repaired.
const (
	ExitWarn = 3
	ExitBad  = 4
)

// lookTimeout bounds a statement of the doctor that does not read whole tables.
const lookTimeout = 10 * time.Second

// Doctor looks at the database of a site.
func Doctor(c *cli.CLI) *cobra.Command {
	var flags config.Flags
	var deep, repair, yes bool
	cmd := &cobra.Command{Use: "doctor", Short: "Look whether the database and its daemons are well", Args: cli.Takes(),
		Long: `Look at the database as the daemons leave it: clocks, locks, snapshots, dead rows, settings, indexes, partitions, the log and what is made of it. Each check says ok, warn
or bad, what was found and what to do. It runs beside daemons, and reads what they are started with: give it the same configuration. It changes nothing
unless --repair and --yes are given. The exit code is 0: all is well, 3: something warns, 4: something is bad; 1: it could not look.`,
		Example: "  divvy doctor --database postgres://divvy@db/divvy\n  divvy doctor --config /etc/divvy.yml --deep -o json\n  divvy doctor --deep --repair\n  divvy doctor --deep --repair --yes"}
	flags.Bind(cmd.Flags())
	f := cmd.Flags()
	f.BoolVar(&deep, "deep", false, "read whole tables too, and the whole log: whether the tables are what it comes to, as far back as it is kept")
	f.BoolVar(&repair, "repair", false, "say what would be repaired; with --yes, repair it")
	f.BoolVar(&yes, "yes", false, "with --repair: really repair")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if yes && !repair {
			return fail.Usagef("--yes says to really repair; add --repair")
		}
		cfg, err := flags.Load(os.Getenv)
		if err != nil {
			return fail.UsageError{Err: err}
		}
		opts := []pg.Option{pg.Name("divvy doctor")}
		if !deep && !repair {
			opts = append(opts, pg.StatementTimeout(lookTimeout))
		}
		return offline.Reach(cmd.Context(), c, cfg, func(ctx context.Context, db *pgxpool.Pool) error {
			return examine(ctx, c, cfg, db, examination{deep: deep, repair: repair, yes: yes})
		}, opts...)
	}
	return cmd
}

// examination is what was asked of the doctor.
type examination struct{ deep, repair, yes bool }

func examine(ctx context.Context, c *cli.CLI, cfg config.Config, db *pgxpool.Pool, e examination) error {
	clock, err := DaemonClock(cfg)
	if err != nil {
		return err
	}
	dc := doctor.Config{Direct: db, Site: site.NewStore(site.Config{Pool: db}).At, Clock: clock, Connections: cfg.Database.Connections, Silent: link.Silent,
		Keep: cfg.Keep.Upkeep(), Deep: e.deep, Log: config.NewLog(c.Err, cfg).Logger()}
	if cfg.Database.DSN != "auto" && cfg.Database.Direct != "" && cfg.Database.Direct != cfg.Database.DSN {
		pool, err := pg.Open(ctx, cfg.Database.DSN, pg.MaxConns(1), pg.Name("divvy doctor"))
		if err != nil {
			return err
		}
		defer pool.Close()
		dc.Pool = pool
	}
	r, err := doctor.New(dc).Examine(ctx)
	if err != nil {
		return err
	}
	var repairing error
	if e.yes {
		repairing = r.Repair(offline.As(ctx), db)
	}
	if err := c.Print(r, func(w io.Writer) { writeExamination(w, r, e) }); err != nil {
		return err
	}
	if repairing != nil {
		return repairing
	}
	switch r.Level {
	case doctor.Bad:
		return fail.Code(ExitBad)
	case doctor.Warn:
		return fail.Code(ExitWarn)
	}
	return nil
}

// writeExamination is a line a finding, and below it what to do.
func writeExamination(w io.Writer, r *doctor.Report, e examination) {
	g := show.New(w, "level", "check", "found")
	for _, f := range r.Findings {
		g.Row(g.State(string(f.Level)), f.Check, f.Found)
		if f.Do != "" {
			g.Row("", "", "  do: "+f.Do)
		}
		switch {
		case f.Repaired != "":
			g.Row("", "", "  repaired: "+f.Repaired)
		case f.Repair != "" && e.repair:
			g.Row("", "", "  would be repaired: "+f.Repair)
		case f.Repair != "":
			g.Row("", "", "  --repair can: "+f.Repair)
		}
	}
	g.Flush()
	if len(r.LeftOut) > 0 {
		fmt.Fprintf(w, "\nLeft out, for they read whole tables (--deep): %s.\n", strings.Join(r.LeftOut, ", "))
	}
	if e.repair && !e.yes && r.Repairable() {
		fmt.Fprintln(w, "\nNothing was changed. Repeat it with --yes to repair.")
	}
}

var errNoDate = errors.New("the answer has no Date")

// DaemonClock asks a daemon what time it is: whole seconds, by the head of an answer. Its address is the one that daemons tell each other.
func DaemonClock(cfg config.Config) (func(ctx context.Context, address string) (time.Time, error), error) {
	trust, err := cfg.Access.TLS.Trust()
	if err != nil {
		return nil, err
	}
	cl := &http.Client{Transport: &http.Transport{TLSClientConfig: trust, DisableKeepAlives: true}} // through no proxy, as daemons go
	return func(ctx context.Context, address string) (time.Time, error) {
		url := "http://" + address + "/healthz"
		if host, secure := strings.CutPrefix(address, relay.Secure); secure {
			url = "https://" + host + "/healthz"
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return time.Time{}, err
		}
		resp, err := cl.Do(req)
		if err != nil {
			return time.Time{}, err
		}
		defer resp.Body.Close()
		date := resp.Header.Get("Date")
		if date == "" {
			return time.Time{}, errNoDate
		}
		at, err := http.ParseTime(date)
		if err != nil {
			return time.Time{}, err
		}
		return at.Add(time.Second / 2), nil // the middle of that second
	}, nil
}
