package access

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// Change is something that was done, for the audit. Texts longer than the table takes are cut.
type Change struct {
	What   string // task.kill, site.apply, …: the kind of thing, a dot, the verb
	Object string // 12, CERN, …: which one
	Before string // "" where there was nothing
	After  string
}

// Record notes changes in the transaction that makes them, with the caller of ctx. What the daemon does by itself, without a
// caller, is not noted: it follows from what was.
func Record(ctx context.Context, tx pgx.Tx, changes ...Change) error {
	c := CallerIn(ctx)
	if c == nil || len(changes) == 0 {
		return nil
	}
	var what, object, before, after []string
	for _, ch := range changes {
		what, object, before, after = append(what, ch.What), append(object, ch.Object), append(before, ch.Before), append(after, ch.After)
	}
	_, err := tx.Exec(ctx, query["record"], pgx.StrictNamedArgs{"who": c.Name, "role": string(c.Role), "subject": c.Subject.String(), "token": c.ID,
		"what": what, "object": object, "before": before, "after": after})
	return pg.Named("access: record", err)
}

// Audited is a change as the audit has it.
type Audited struct {
	ID      int64     `json:"id" doc:"Number of the entry; they rise, with gaps."`
	At      time.Time `json:"at" doc:"When its transaction began."`
	Who     string    `json:"who" doc:"Name of the token; token file, or anybody where none is asked for."`
	Role    string    `json:"role" doc:"Its role."`
	Subject string    `json:"subject,omitempty" doc:"What it is bound to."`
	What    string    `json:"what" doc:"What was done, such as task.kill."`
	Object  string    `json:"object" doc:"To which one: id or name."`
	Before  string    `json:"before,omitempty" doc:"How it was."`
	After   string    `json:"after,omitempty" doc:"How it is since."`
}

// AuditFilter says which entries.
type AuditFilter struct {
	Who    string    // name of a token
	What   string    // task.kill, or task for all of that kind
	Object string    // id or name
	Since  time.Time // zero: all
	Before int64     // entries with a smaller id; 0: the newest
	Limit  int
}

// Audit lists entries, the newest first.
func (s *Store) Audit(ctx context.Context, f AuditFilter) ([]Audited, error) {
	return s.audit(ctx, f, 0)
}

// Looked is a page of the audit that was chosen from a bounded number of entries.
type Looked struct {
	Items []Audited
	Next  int64 // Before of the next page; 0: there is none
}

// AuditAmong is Audit for those who ask again and again: it looks at the newest so many entries before f.Before, so that a
// filter that next to nothing passes does not read years. A page may be short, or empty, and yet have a next one.
func (s *Store) AuditAmong(ctx context.Context, f AuditFilter, among int) (Looked, error) {
	all, err := s.audit(ctx, f, among)
	if err != nil {
		return Looked{}, err
	}
	if len(all) == f.Limit {
		return Looked{Items: all, Next: all[len(all)-1].ID}, nil
	}
	// Asked second: what is noted meanwhile makes two pages overlap, and never leaves out an entry between them.
	edges, err := many[auditEdge](ctx, s.db, "audit_edge", pgx.StrictNamedArgs{"before": f.Before, "among": among})
	switch {
	case err != nil:
		return Looked{}, err
	case len(edges) == 0: // there are not so many: all were looked at
		return Looked{Items: all}, nil
	case edges[0].At.Before(f.Since): // what comes behind is older still, but for transactions that overtook each other
		return Looked{Items: all}, nil
	}
	return Looked{Items: all, Next: edges[0].ID}, nil
}

type auditEdge struct {
	ID int64
	At time.Time
}

// audit looks at so many entries; 0: at all.
func (s *Store) audit(ctx context.Context, f AuditFilter, among int) ([]Audited, error) {
	return many[Audited](ctx, s.db, "audit", pgx.StrictNamedArgs{"who": f.Who, "what": f.What, "object": f.Object, "since": f.Since, "before": f.Before,
		"among": among, "limit": f.Limit})
}

// purgeBatch bounds a step of Purge.
const purgeBatch = 10_000

// PurgeAudit drops entries that are older than keep, some thousand at a time; n is how many. 0 keeps them for ever. A step.
func (s *Store) PurgeAudit(ctx context.Context, keep time.Duration) (n int, err error) {
	if keep == 0 {
		return 0, nil
	}
	tag, err := s.db.Exec(ctx, query["purge_audit"], pgx.StrictNamedArgs{"keep_s": keep.Seconds(), "limit": purgeBatch})
	return int(tag.RowsAffected()), pg.Named("access: purge", err)
}
