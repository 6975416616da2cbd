package doctor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/divvyhq/divvy/internal/pg"
)

// Clocks that differ by more than these are trouble. Leases go by none of them; the database's dates the log, the others are for
// plans with a time of day, logs and certificates.
const (
	clockWarn = 2 * time.Second
	clockBad  = 30 * time.Second
)

// daemon is a row of sql/daemons.sql.
type daemon struct {
	ID      int64
	Host    string
	Address string
	Version string
	SilentS float64
}

func (d daemon) String() string { return fmt.Sprintf("daemon %d on %s", d.ID, d.Host) }

// open reads the open daemons, once, and returns how many there are.
func (d *Doctor) open(ctx context.Context) (n int, err error) {
	d.daemons, err = pg.Collect[daemon](ctx, d.cfg.Direct, query["daemons"])
	return len(d.daemons), err
}

// alive is about daemons that were not heard of.
func (d *Doctor) alive(ctx context.Context) (found []Finding, err error) {
	n, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return []Finding{{Level: Warn, Found: "no daemon runs", Do: "start one: divvy serve"}}, nil
	}
	silent := 0
	for _, daemon := range d.daemons {
		if daemon.SilentS <= d.cfg.Silent.Seconds() {
			continue
		}
		silent++
		found = append(found, Finding{Level: Warn, Found: fmt.Sprintf("%s was not heard of for %s", daemon, seconds(daemon.SilentS)),
			Do: "look at its log, and whether it reaches the database; another daemon closes it by itself"})
	}
	if mixed := d.mixed(); mixed != "" {
		found = append(found, Finding{Level: Warn, Found: "daemons of several releases run: " + mixed,
			Do: "go on with the upgrade: stop the older ones in order and start the newer divvy in their place"})
	}
	if silent == n {
		for i := range found[:silent] {
			found[i].Level, found[i].Do = Bad, "no daemon is left: start one; leases wait for it, see docs/operations.md"
		}
	}
	return found, nil
}

// mixed names the releases of daemons that live, and who is which; empty when they are all the same.
func (d *Doctor) mixed() string {
	of := map[string][]string{}
	for _, daemon := range d.daemons {
		if daemon.SilentS <= d.cfg.Silent.Seconds() {
			of[daemon.Version] = append(of[daemon.Version], daemon.String())
		}
	}
	if len(of) < 2 {
		return ""
	}
	var all []string
	for _, version := range slices.Sorted(maps.Keys(of)) {
		all = append(all, fmt.Sprintf("%s (%s)", cmp.Or(version, "one before v0.9"), strings.Join(of[version], ", ")))
	}
	return strings.Join(all, ", ")
}

// clocks compares this host's clock and those of the daemons with the database's.
func (d *Doctor) clocks(ctx context.Context) (found []Finding, err error) {
	differs := func(whose string, off, slack time.Duration) {
		level := Warn
		switch size := max(off, -off) - slack; {
		case size < clockWarn:
			return
		case size >= clockBad:
			level = Bad
		}
		found = append(found, Finding{Level: level, Found: fmt.Sprintf("the clock of %s is %s off the database's", whose, seconds(off.Seconds())),
			Do: "have chrony or another NTP client set both"})
	}
	off, took, err := d.offset(ctx, func(context.Context) (time.Time, error) { return time.Now(), nil })
	if err != nil {
		return nil, err
	}
	differs("this host", off, took)
	if d.cfg.Clock == nil {
		return found, nil
	}
	for _, daemon := range d.daemons {
		if daemon.Address == "" || daemon.SilentS > d.cfg.Silent.Seconds() {
			continue
		}
		off, took, err := d.offset(ctx, func(ctx context.Context) (time.Time, error) {
			ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			return d.cfg.Clock(ctx, daemon.Address)
		})
		if err != nil {
			found = append(found, Finding{Level: Warn, Found: fmt.Sprintf("%s could not be asked for its clock at %s: %v", daemon, daemon.Address, err),
				Do: "look whether the daemons reach each other there (advertise); from another host than theirs this may be a firewall"})
			continue
		}
		differs(daemon.String(), off, took+time.Second) // HTTP says whole seconds
	}
	return found, nil
}

type nowRow struct{ Now time.Time }

// offset is how far a clock is ahead of the database's, which is read before and after.
func (d *Doctor) offset(ctx context.Context, read func(context.Context) (time.Time, error)) (off, took time.Duration, err error) {
	before, err := pg.Row[nowRow](ctx, d.cfg.Direct, query["now"])
	if err != nil {
		return 0, 0, err
	}
	at, err := read(ctx)
	if err != nil {
		return 0, 0, err
	}
	after, err := pg.Row[nowRow](ctx, d.cfg.Direct, query["now"])
	if err != nil {
		return 0, 0, err
	}
	took = after.Now.Sub(before.Now)
	return at.Sub(before.Now.Add(took / 2)), took, nil
}
