package site

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// ApplyRequest asks for a new version.
type ApplyRequest struct {
	Source []byte            // the site file
	Name   string            // of the file, for messages
	By     string            // who asks
	Note   string            // why, for the history
	Moves  map[string]string // live work of a share that is removed or gets children: its path → a leaf of the new tree
	DryRun bool              // everything but the change
	When   time.Time         // dry run: targets by the plans in force then; zero: now
	// Check is asked whether the changes may be, under the site lock, so that nothing comes between; nil: any. An error of
	// it refuses them.
	Check func(Changes) error
}

// Applied is what an Apply or a rollback did, or in a dry run would do.
type Applied struct {
	Version   int64         `json:"version" doc:"The version in force afterwards. In a dry run the number that it would get."`
	Unchanged bool          `json:"unchanged" doc:"The file is the one in force: nothing was done."`
	DryRun    bool          `json:"dry_run"`
	Changes   Changes       `json:"changes"`
	Moved     []Moved       `json:"moved" doc:"Live work that went to another share."`
	Refused   []Obstacle    `json:"refused" doc:"In a dry run: why it would be refused."`
	Targets   []PoolTargets `json:"targets" doc:"In a dry run: targets before and after, for the live demand."`
	Notes     []string      `json:"notes" doc:"What is allowed but may be a slip."`
}

// Moved is live work that changed its share.
type Moved struct {
	From string `json:"from"`
	To   string `json:"to"`
	Live Live   `json:"live"`
}

// Apply makes the file the version in force, in one transaction and at once in every daemon. A file that is
// wrong is refused with Problems, a change that live work forbids with *Refused; then nothing is changed.
// The file that is in force already makes no new version. Concurrent calls take turns. Where much live work goes to a leaf that is
// in force it moves first, batch by batch: ErrMoving as long as there is more, and a repeat goes on.
func (s *Store) Apply(ctx context.Context, r ApplyRequest) (Applied, error) {
	next, err := Parse(fileName(r.Name), r.Source)
	if err != nil {
		return Applied{}, err
	}
	next.AppliedBy, next.Note = r.By, r.Note
	return s.change(ctx, wanted{next: next, moves: r.Moves, dryRun: r.DryRun, when: r.When, check: r.Check})
}

// fileName is what problems call a file that came without a name.
func fileName(name string) string { return cmp.Or(name, "site.yml") }

// wanted is a change that is asked for.
type wanted struct {
	next     *Site
	moves    map[string]string
	dryRun   bool
	when     time.Time                 // of a dry run
	check    func(Changes) error       // nil: none
	shareIDs map[string]shares.ShareID // of a rollback: who is who
	queueIDs map[string]shares.QueueID
}

func (s *Store) change(ctx context.Context, w wanted) (out Applied, err error) {
	if err := s.ahead(ctx, w); err != nil {
		return Applied{}, err
	}
	err = pg.InTx(ctx, s.db, func(tx pgx.Tx) error {
		lock := pg.Lock
		if w.dryRun {
			lock = pg.LockShared // submissions go on
		}
		if err := lock(ctx, tx, pg.LockSite, 0); err != nil {
			return err
		}
		out, err = s.changeIn(ctx, tx, w)
		return err
	})
	if err != nil {
		return Applied{}, err
	}
	return out, nil
}

// changeIn is change under the site lock.
func (s *Store) changeIn(ctx context.Context, tx pgx.Tx, w wanted) (Applied, error) {
	before, err := s.load(ctx, tx, inForce)
	if err != nil && !errors.Is(err, ErrUnreadable) { // an unreadable version may still be replaced
		return Applied{}, err
	}
	if before.Number > 0 && before.Source == w.next.Source {
		out := newApplied(before.Number, w.dryRun)
		out.Changes, out.Unchanged = diff(before, before), true
		if w.dryRun {
			return out, nil
		}
		return out, pg.Secure(ctx, tx) // it says that it is in force
	}
	c, err := s.prepare(ctx, tx, w, before)
	if err != nil {
		return Applied{}, err
	}
	if w.check != nil {
		if err := w.check(diff(c.before, c.next)); err != nil {
			return Applied{}, err
		}
	}
	if w.dryRun {
		return c.rehearse(ctx, w.when)
	}
	if len(c.obstacles) > 0 {
		return Applied{}, &Refused{Obstacles: c.obstacles}
	}
	err = c.write(ctx, tx)
	return c.applied(), err
}

// rehearse is the answer to a dry run.
func (c *transition) rehearse(ctx context.Context, when time.Time) (Applied, error) {
	if when.IsZero() {
		when = time.Now()
	}
	targets, err := c.targets(ctx, when)
	out := c.applied()
	out.Refused, out.Targets = append(out.Refused, c.obstacles...), targets
	return out, err
}

// newApplied is an answer whose lists are empty, not null.
func newApplied(version int64, dryRun bool) Applied {
	return Applied{Version: version, DryRun: dryRun, Moved: []Moved{}, Refused: []Obstacle{}, Targets: []PoolTargets{}, Notes: []string{}}
}

// applied is the answer, short of what a dry run adds.
func (c *transition) applied() Applied {
	a := newApplied(c.next.Number, c.dryRun)
	a.Changes, a.Notes = diff(c.before, c.next), append(a.Notes, c.notes...)
	for i := range a.Changes.Shares {
		a.Changes.Shares[i].ID = max(a.Changes.Shares[i].ID, 0) // a placeholder
	}
	for _, m := range c.moves {
		a.Moved = append(a.Moved, Moved{From: m.from.Path, To: c.next.Tree.Nodes[m.to].Path, Live: m.live})
	}
	return a
}

// write puts the new version into the tables and tells everyone.
func (c *transition) write(ctx context.Context, tx pgx.Tx) error {
	rows, err := many[struct{ AppliedAt time.Time }](ctx, tx, "insert_version", pgx.StrictNamedArgs{
		"version": c.next.Number, "applied_by": c.next.AppliedBy, "note": c.next.Note,
		"rollback_of": c.next.RollbackOf, "source": c.next.Source})
	if err != nil {
		return err
	}
	c.next.AppliedAt = rows[0].AppliedAt
	for _, step := range []func(context.Context, pgx.Tx) error{c.writeShares, c.writeQueues, c.writeRules, c.writeResources, c.writeIDs, c.moveWork} {
		if err := step(ctx, tx); err != nil {
			return err
		}
	}
	what := "site.apply"
	if c.next.RollbackOf != 0 {
		what = "site.rollback"
	}
	err = access.Record(ctx, tx, access.Change{What: what, Object: strconv.FormatInt(c.next.Number, 10),
		Before: fmt.Sprintf("version %d", c.before.Number), After: diff(c.before, c.next).lines()})
	if err != nil {
		return err
	}
	return c.store.applied(ctx, tx, c.next)
}

// lines are the changes for people, one a line.
func (c Changes) lines() string {
	var all []string
	for _, s := range c.Shares {
		all = append(all, s.String())
	}
	for _, q := range c.Queues {
		all = append(all, q.String())
	}
	rules := func(what string, changes []RuleChange) {
		for _, r := range changes {
			all = append(all, r.Line(what))
		}
	}
	entries := func(what string, changes []EntryChange) {
		for _, e := range changes {
			all = append(all, e.Line(what))
		}
	}
	rules("rule", c.Rules)
	rules("limit", c.Limits)
	entries("resource", c.Resources)
	entries("claim template", c.ClaimTemplates)
	entries("retry rule", c.RetryRules)
	entries("attempts", c.Attempts)
	if c.OnNoMatch != nil {
		all = append(all, "on_no_match "+c.OnNoMatch.Before+" → "+c.OnNoMatch.After)
	}
	return strings.Join(all, "\n")
}

func (c *transition) writeIDs(ctx context.Context, tx pgx.Tx) error {
	byPath, byName := c.next.ids()
	_, err := exec(ctx, tx, "set_version_ids", pgx.StrictNamedArgs{"version": c.next.Number, "share_ids": byPath, "queue_ids": byName})
	return err
}

func (c *transition) writeRules(ctx context.Context, tx pgx.Tx) error {
	var positions []int32
	var matches []string
	var paths []string
	for i, r := range c.next.Rules {
		match, err := json.Marshal(r.Match)
		if err != nil {
			return fmt.Errorf("site: rule %d: %w", i+1, err)
		}
		positions, matches, paths = append(positions, int32(i)), append(matches, string(match)), append(paths, r.Share)
	}
	_, err := exec(ctx, tx, "insert_rules", pgx.StrictNamedArgs{"version": c.next.Number, "positions": positions, "matches": matches, "shares": paths})
	return err
}

var errNoMove = errors.New("site: this daemon cannot move live work")

func (c *transition) moveWork(ctx context.Context, tx pgx.Tx) error {
	for _, m := range c.moves {
		if c.store.hooks.Move == nil {
			return errNoMove
		}
		if err := c.store.hooks.Move(ctx, tx, m.from.ID, c.next.Tree.Nodes[m.to].ID); err != nil {
			return fmt.Errorf("site: move %s: %w", m.from.Path, err)
		}
	}
	return nil
}
