package dispatcher

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

// TargetSlots is how many cores may be held at a queue, as whoever feeds it with pilots says it: a hard limit beside
// those of the site file, or a floor, which ends by itself. There may be both for the same.
type TargetSlots struct {
	Queue string         // its name; the site may get such a queue later
	Share shares.ShareID // that they are for, with all below it; 0: for all shares
	Class string         // of jobs, as job.Class names it; empty: of all
	Slots int            // cores; negative: there is no such limit, or floor, any more
	Until time.Time      // when it ends; zero: when it is said so
	Floor bool           // while fewer are held, these jobs come first at the queue
}

// says is what was set, for the audit.
func (t TargetSlots) says() string {
	what := "limit"
	if t.Floor {
		what = "floor"
	}
	s := fmt.Sprintf("%s of %d cores", what, t.Slots)
	if t.Slots < 0 {
		s = "no " + what
	}
	if t.Share != 0 {
		s += fmt.Sprintf(", of share %d", t.Share)
	}
	if t.Class != "" {
		s += ", of " + t.Class
	}
	return s
}

const nClasses = 4

// targetRow is a limit or a floor that is in force.
type targetRow struct {
	Queue     string
	ShareID   shares.ShareID
	Class     string
	Slots     int
	ExpiresAt *time.Time
	Floor     bool
}

// key is the name of the limit at a queue.
func (r targetRow) key(q shares.QueueID) limitKey {
	return limitKey{Kind: "target_slots", Ref: fmt.Sprintf("%d/%d/%s", q, r.ShareID, r.Class)}
}

// covers says whether jobs of a share and class count under it.
func (r targetRow) covers(t *shares.Tree, share shares.ShareID, class string) bool {
	if r.Class != "" && r.Class != class {
		return false
	}
	if r.ShareID == 0 {
		return true
	}
	for i, ok := t.ByID(share); ok && i >= 0; i = t.Nodes[i].Parent {
		if t.Nodes[i].ID == r.ShareID {
			return true
		}
	}
	return false
}

// SetTargetSlots puts a limit in force at all daemons, or takes it back. Nothing is killed: while more is held, nothing is
// granted under it.
func (d *Dispatcher) SetTargetSlots(ctx context.Context, t TargetSlots) error {
	if t.Queue == "" {
		return job.Wrong("queue", `""`, "the name of a queue")
	}
	if t.Class != "" && !slices.Contains(job.Classes, t.Class) {
		return job.Wrong("class", fmt.Sprintf("%q", t.Class), "one of "+strings.Join(job.Classes, ", "))
	}
	// The tail is read while grants wait: fold most of it first. If that fails it is only longer.
	if _, err := d.Fold(ctx); err != nil {
		d.cfg.Log.Debug("not folded before target slots are set", "err", err)
	}
	err := pg.InTx(ctx, d.cfg.Pool, func(tx pgx.Tx) error {
		if err := d.setTargetSlots(ctx, tx, t); err != nil {
			return err
		}
		return access.Record(ctx, tx, access.Change{What: "queue.target-slots", Object: t.Queue, After: t.says()})
	})
	if err != nil {
		return fmt.Errorf("target slots: %w", err)
	}
	return nil
}

func (d *Dispatcher) setTargetSlots(ctx context.Context, tx pgx.Tx, t TargetSlots) error {
	if err := Barrier(ctx, tx); err != nil {
		return err
	}
	v, err := d.cfg.Load(ctx) // behind the barrier: no newer version can come in between
	if err != nil {
		return err
	}
	args := pgx.StrictNamedArgs{"queue": t.Queue, "share": int32(t.Share), "class": t.Class}
	set, verb := "set_target_slots", "remove_target_slots"
	if t.Floor {
		set, verb = "set_target_floor", "remove_target_floor"
	}
	if t.Slots >= 0 {
		verb = set
		args["slots"], args["expires_at"] = t.Slots, nil
		if !t.Until.IsZero() {
			args["expires_at"] = t.Until
		}
	}
	tag, err := tx.Exec(ctx, query[verb], args)
	if err != nil || tag.RowsAffected() == 0 {
		return err // as it was
	}
	if err := rebase(ctx, tx, v, d.cfg.Now); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, query["notify"], pgx.StrictNamedArgs{"what": "site"})
	return err
}

// targetsAt lists the limits that are in force at a moment.
func targetsAt(ctx context.Context, db querier, at time.Time) ([]targetRow, error) {
	return collect[targetRow](ctx, db, "target_slots", pgx.StrictNamedArgs{"at": at})
}

// nextChange is when plans other than those of a moment come into force, or a limit ends; zero: never.
func nextChange(t *shares.Tree, targets []targetRow, at time.Time) time.Time {
	next, _ := t.NextChange(at)
	for _, r := range targets {
		if r.ExpiresAt != nil && (next.IsZero() || r.ExpiresAt.Before(next)) {
			next = *r.ExpiresAt
		}
	}
	return next
}

// target is a limit or a floor of a queue as this daemon sees it.
type target struct {
	targetRow
	limit  *limit // nil of a floor
	held   int64  // cores, by all daemons
	leaves []int  // of a floor: whose jobs count
}

// hangTargets ties the limits and floors that are in force to their queues.
func (s *state) hangTargets(limits map[limitKey]*limit) {
	for _, r := range s.targets {
		q := s.byName[r.Queue]
		switch {
		case q == nil:
		case r.Floor:
			s.hangFloor(q, r)
		case limits == nil || limits[r.key(q.ID)] != nil: // a replay has none
			q.targets = append(q.targets, &target{targetRow: r, limit: limits[r.key(q.ID)]})
		}
	}
}

// spendTargets charges this daemon's escrow under the target slots of a queue.
func (s *state) spendTargets(q *queue, key heldKey, jobs int64) {
	sh := s.shapes[key.shape]
	for _, t := range q.targets {
		if !t.covers(s.version.Tree, key.share, sh.class) {
			continue
		}
		t.limit.spent += shares.Units(jobs*int64(sh.need.Cores)) * 1000
		if jobs < 0 {
			t.limit.ease()
		}
	}
}

// holdTargets counts what is held under the target slots of a queue.
func (s *state) holdTargets(q *queue, key heldKey, jobs int64) {
	sh := s.shapes[key.shape]
	if sh == nil {
		return
	}
	for _, list := range [][]*target{q.targets, q.floors} {
		for _, t := range list {
			if t.covers(s.version.Tree, key.share, sh.class) {
				t.held += jobs * int64(sh.need.Cores)
			}
		}
	}
}

// roomAt is how many cores the target slots of a queue leave for jobs of a share and shape; ok is false when they bound
// nothing.
func (s *state) roomAt(q *queue, share shares.ShareID, sh *outline) (cores int64, ok bool) {
	for _, t := range q.targets {
		if left := max(0, int64(t.Slots)-t.held); (!ok || left < cores) && t.covers(s.version.Tree, share, sh.class) {
			cores, ok = left, true
		}
	}
	return cores, ok
}

// mostAt is what jobs of a share and class may hold of a queue, in units; an empty class is for all of them. ok is false when
// neither slots nor target slots bound it. What others hold under the same target slots does not count, as with the slots of
// a queue: else a grant at one queue would change what a thousand shares want.
func (s *state) mostAt(q *queue, share shares.ShareID, class string) (most shares.Units, ok bool) {
	most, ok = q.Capacity()
	for _, t := range q.targets {
		if u := shares.Units(int64(t.Slots) * q.CorePowerMilli); (!ok || u < most) && t.covers(s.version.Tree, share, class) {
			most, ok = u, true
		}
	}
	return most, ok
}

// targetInTheWay says which target slots have no room for a job of a share, by what all daemons hold; "" when all have.
func (s *state) targetInTheWay(q *queue, share shares.ShareID, sh *outline) string {
	for _, t := range q.targets {
		if !t.covers(s.version.Tree, share, sh.class) {
			continue
		}
		if t.held+int64(sh.need.Cores) > int64(t.Slots) {
			return fmt.Sprintf("%s: %d are held, it needs %d", s.nameOf(t), t.held, sh.need.Cores)
		}
	}
	return ""
}

// targetStandings tells of the target slots of a queue.
func (s *state) targetStandings(q *queue) (all []TargetSlotsStanding) {
	for _, t := range slices.Concat(q.targets, q.floors) {
		st := TargetSlotsStanding{Share: s.pathOf(t.ShareID), Class: t.Class, Slots: t.Slots, HeldCores: t.held, Floor: t.Floor}
		if t.ExpiresAt != nil {
			until := t.ExpiresAt.UTC()
			st.Until = &until
		}
		all = append(all, st)
	}
	return all
}

// pathOf is the path of a share; empty for the whole tree.
func (s *state) pathOf(id shares.ShareID) string {
	if node, ok := s.version.Tree.ByID(id); ok && id != 0 {
		return s.version.Tree.Nodes[node].Path
	}
	return ""
}

// whose says in words whose jobs target slots are for.
func (s *state) whose(t *target) string {
	switch path := s.pathOf(t.ShareID); {
	case path == "" && t.Class == "":
		return "all jobs"
	case path == "":
		return t.Class + " jobs"
	case t.Class == "":
		return path
	default:
		return t.Class + " jobs of " + path
	}
}

// nameOf says what target slots are for.
func (s *state) nameOf(t *target) string {
	var b strings.Builder
	b.WriteString("target slots of the queue")
	if path := s.pathOf(t.ShareID); path != "" {
		fmt.Fprintf(&b, " for %s", path)
	}
	if t.Class != "" {
		fmt.Fprintf(&b, ", %s jobs", t.Class)
	}
	fmt.Fprintf(&b, " are %d", t.Slots)
	if t.ExpiresAt != nil {
		fmt.Fprintf(&b, " until %s", t.ExpiresAt.UTC().Format(time.RFC3339))
	}
	return b.String()
}
