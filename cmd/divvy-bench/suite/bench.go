package suite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy-bench/profile"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/pg"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

//go:embed peers/*.sql
var peerFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// peer is a statement or script of a floor.
func peer(name string) string {
	text, err := peerFiles.ReadFile("peers/" + name + ".sql")
	if err != nil {
		panic(err) // they are part of the binary
	}
	return string(text)
}

// Sizes is the data set and the length of a run.
type Sizes struct {
	Ready      int           `json:"ready"`       // ready jobs when a round begins
	Held       int           `json:"held"`        // leases when a round begins
	Pullers    int           `json:"pullers"`     // concurrent pulls, in process and over HTTP
	Round      time.Duration `json:"round"`       // one side of one round
	Rounds     int           `json:"rounds"`      // of every measurement
	Wakes      int           `json:"wakes"`       // jobs that wake an idle long poll, in all rounds
	Inputs     int           `json:"inputs"`      // of a submission
	Submits    int           `json:"submits"`     // rounds of it
	RequestIDs bool          `json:"request_ids"` // every pull names one, as the reference pilot's do
	Brief      bool          `json:"brief"`       // what several measurements need is made once, see doc.go
	Snapshot   int           `json:"snapshot"`    // claims while a snapshot is held open
	Renewed    int           `json:"renewed"`     // leases that are held and renewed beside claims
	Growth     Growth        `json:"growth"`      // of S5 and S9
}

// Base is the data set of the design.
func Base() Sizes {
	return Sizes{Ready: 1_000_000, Held: 100_000, Pullers: 256, Round: 5 * time.Second, Rounds: 3, Wakes: 1500, Inputs: 1_000_000, Submits: 3,
		Snapshot: 10_000_000, Renewed: 1_000_000, Growth: GrowthOf(1_000_000, 100_000)}
}

// Quick has the same base, in rounds of a second. S5 and S9 grow up to it, in place of from it; snapshot and renewals
// are a twentieth and less.
func Quick() Sizes {
	return Sizes{Ready: 1_000_000, Held: 100_000, Pullers: 256, Round: time.Second, Rounds: 3, Wakes: 300, Inputs: 1_000_000, Submits: 1,
		Snapshot: 100_000, Renewed: 50_000, Brief: true, Growth: GrowthOf(100_000, 10_000)}
}

func (s Sizes) check() error {
	if s.Ready < 1000 || s.Held < 0 || s.Pullers < 1 || s.Rounds < 1 || s.Wakes < 1 || s.Inputs < 1 || s.Submits < 1 || s.Snapshot < 1 || s.Renewed < 1000 || s.Round < 50*time.Millisecond {
		return fmt.Errorf("sizes make no sense: at least 1000 ready jobs, rounds of 50ms, and one of everything else: %+v", s)
	}
	return nil
}

// Served is a daemon that runs.
type Served struct {
	Dispatcher *dispatcher.Dispatcher
	URL        string
	Stop       func(context.Context) error
}

// Config is what a run needs.
type Config struct {
	Only     []string // measurements; none = all
	Sizes    Sizes
	Database string // DSN of a server on which a database may be made; empty = a private cluster
	// Serve starts the daemon on a migrated database that has a site. Leases must last for hours.
	Serve func(ctx context.Context, dsn string) (Served, error)
	// LoadCommand is the program, with its arguments, that runs Load.
	LoadCommand []string
	// DaemonCommand is the program, with its arguments, that runs Daemon with Serve.
	DaemonCommand []string
	Profile       string    // folder for profiles of the claims of S1 and S2; empty = none. They cost some per cent
	Progress      io.Writer // hears of every step; no figures
	Log           *slog.Logger
}

// Setting is a fact that a figure depends on.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Report is what came out.
type Report struct {
	Began    time.Time `json:"began"`
	TookS    float64   `json:"took_s"`
	Sizes    Sizes     `json:"sizes"`
	Figures  []Figure  `json:"figures"`
	Skipped  []Skip    `json:"skipped,omitempty"` // what could not be measured here
	Checks   []string  `json:"checks"`            // what was checked after which measurement
	Settings []Setting `json:"settings"`
	Commands []string  `json:"commands"`
	Samples  []Sample  `json:"samples,omitempty"` // of a day
	Costs    []Cost    `json:"costs,omitempty"`   // of the steps of a job
}

// Skip is a measurement that was wanted and could not be made.
type Skip struct {
	ID  string `json:"id"`
	Why string `json:"why"`
}

// CheckError is a run that cannot be believed: what was counted is not what is there.
type CheckError struct{ Problems []error }

// Error lists the problems.
func (e *CheckError) Error() string {
	return "a check failed, so there are no figures: " + errors.Join(e.Problems...).Error()
}

// Run measures. Everything that it started is stopped, and its database gone, when it returns.
func Run(ctx context.Context, cfg Config) (report *Report, err error) {
	chosen, err := choose(cfg.Only)
	if err != nil {
		return nil, err
	}
	if err := cfg.Sizes.check(); err != nil {
		return nil, err
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Progress == nil {
		cfg.Progress = io.Discard
	}
	cfg.Progress = &inLine{to: cfg.Progress}
	before := machine("at the start")
	s := &stage{cfg: cfg, Sizes: cfg.Sizes, report: &Report{Began: time.Now(), Sizes: cfg.Sizes}, profile: profile.New(cfg.Profile)}
	if busy() {
		s.say("others use this machine (load average %s): the figures will be worth little", loadAverage())
	}
	s.say("making a database")
	if s.place, err = openPlace(ctx, cfg.Database, cfg.Log); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop(context.WithoutCancel(ctx))) }()
	if err := s.measure(ctx, chosen); err != nil {
		return nil, err
	}
	if err := s.profile.Write(); err != nil {
		return nil, err
	}
	server, err := s.place.settings(ctx)
	if err != nil {
		return nil, err
	}
	s.report.Settings = append(append(before, machine("at the end")[:1]...), append(s.ownSettings(), server...)...)
	s.report.TookS = time.Since(s.report.Began).Seconds()
	return s.report, nil
}

// measure goes through the chosen measurements; those that share a candidate share its rounds.
func (s *stage) measure(ctx context.Context, chosen selection) error {
	generated, err := s.load(ctx)
	if err != nil {
		return err
	}
	if chosen["S8"] {
		s.figure(atLeast("S8", "generated_per_s", generated.Median, 150_000, generated))
	}
	if err := s.serve(ctx); err != nil {
		return err
	}
	if chosen.any("S1", "S2", "S3", "S4", "S6", "S7", "S10", "S11") || chosen["S5"] && s.growthBase() || chosen.any("S5", "S9") && s.growthTop() {
		if err := s.hold(ctx); err != nil {
			return err
		}
	}
	if err := s.measured(ctx, "loading"); err != nil {
		return err
	}
	for _, step := range s.steps() {
		if chosen.any(step.ids...) {
			if err := s.take(ctx, step, chosen); err != nil {
				return err
			}
		}
	}
	return s.settle(ctx)
}

// step is a part of a run that several measurements may share.
type step struct {
	ids  []string
	take func(context.Context, selection) error
}

// steps in their order. S5 and S9 come before S7, which leaves more leases than the base has, S6 is the last: it
// leaves millions of dead rows. In a brief run the rounds of S2 are those of S7 and the first ones of S6 as well.
func (s *stage) steps() []step {
	inProcess, overHTTP := step{[]string{"S1", "S10"}, s.inProcess}, step{[]string{"S2", "S4"}, s.overHTTP}
	life, bytes, growth := step{[]string{"S3"}, s.wholeLife}, step{[]string{"S11"}, s.lifeBytes}, step{[]string{"S5", "S9"}, s.scale}
	quiet := step{[]string{"S12"}, s.quiet}
	renewals, submissions, snapshot := step{[]string{"S7"}, s.renewals}, step{[]string{"S8"}, s.bulk}, step{[]string{"S6"}, s.snapshot}
	if s.Brief {
		overHTTP.ids = append(overHTTP.ids, "S7")
		return []step{inProcess, life, bytes, growth, submissions, overHTTP, quiet, snapshot}
	}
	return []step{inProcess, overHTTP, life, bytes, growth, renewals, submissions, quiet, snapshot}
}
