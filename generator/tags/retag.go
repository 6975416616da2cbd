package tags

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/tagging"
)

// Retagging says what rules would make of past tasks. Nothing is written.
type Retagging struct {
	SinceS    float64    `json:"since_s" doc:"How far back tasks were looked at, by when they were submitted, in seconds."`
	Tasks     int64      `json:"tasks" doc:"Tasks looked at."`
	Jobs      int64      `json:"jobs" doc:"Their jobs, those to come too."`
	Changed   int64      `json:"changed" doc:"Tasks whose jobs would go to another share, or to none."`
	Groups    int64      `json:"groups" doc:"Tasks that no rule can tell apart are one group: so many there were."`
	Moves     []Retagged `json:"moves" doc:"By old and new share, those that stay too."`
	Unmatched []NoShare  `json:"unmatched" doc:"The largest groups that would get no share, 50 at the most."`
}

// Retagged counts tasks by the share that their jobs went to and the one that they would go to.
type Retagged struct {
	Old   string `json:"old,omitempty" doc:"Empty: none, they wait for a rule."`
	New   string `json:"new,omitempty" doc:"Empty: none, they would be held or refused."`
	Same  bool   `json:"same" doc:"The same share, if by another name."`
	Tasks int64  `json:"tasks"`
	Jobs  int64  `json:"jobs"`
}

// NoShare is a group of tasks that no rule would give a share.
type NoShare struct {
	Old        string             `json:"old,omitempty"`
	Verdict    string             `json:"verdict" enum:"hold,reject,invalid" doc:"invalid: the task names a share that is no leaf."`
	Reason     string             `json:"reason"`
	Attributes tagging.Attributes `json:"attributes" doc:"What the rules read of them."`
	Tasks      int64              `json:"tasks"`
	Jobs       int64              `json:"jobs"`
	Example    int64              `json:"example" doc:"Id of one of the tasks."`
}

// mostUnmatched bounds the answer.
const mostUnmatched = 50

// pastGroup is tasks that the rules cannot tell apart.
type pastGroup struct {
	ShareID shares.ShareID
	Share   string
	Named   bool
	OwnID   shares.ShareID
	Own     string
	Read    []*string // values of the fields that the rules read
	Tasks   int64
	Jobs    int64
	Example int64

	Attributes tagging.Attributes `db:"-"`
}

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Past is the tasks that were.
type Past struct{ Pool *pgxpool.Pool }

// Retag tells what the rules of st, a site file that need not be in force (site.Store.Preview), would make of the
// tasks that were submitted since. The database groups them by the fields that the rules read, and groups are counted
// as they come: memory does not grow with the tasks.
func (p Past) Retag(ctx context.Context, st *site.Site, since time.Duration) (Retagging, error) {
	out := Retagging{SinceS: since.Seconds(), Unmatched: []NoShare{}}
	moves := map[[2]string]*Retagged{}
	opts := pgx.TxOptions{AccessMode: pgx.ReadOnly}
	err := pgx.BeginTxFunc(ctx, p.Pool, opts, func(tx pgx.Tx) error {
		fields := fieldsOf(st.Rules)
		rows, err := tx.Query(ctx, query["past_tags"], pgx.StrictNamedArgs{"fields": fields, "since_s": since.Seconds()})
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			g, err := pgx.RowToStructByName[pastGroup](rows)
			if err != nil {
				return err
			}
			g.Attributes = tagging.Attributes{}
			for i, value := range g.Read {
				if value != nil {
					g.Attributes[fields[i]] = *value
				}
			}
			out.add(st, g, moves)
		}
		return rows.Err()
	})
	if err != nil {
		return Retagging{}, fmt.Errorf("retag: %w", err)
	}
	out.Moves = make([]Retagged, 0, len(moves))
	for _, m := range moves {
		out.Moves = append(out.Moves, *m)
	}
	slices.SortFunc(out.Moves, func(a, b Retagged) int { return cmp.Or(cmp.Compare(a.Old, b.Old), cmp.Compare(a.New, b.New)) })
	return out, nil
}

// fieldsOf are the attributes that rules read.
func fieldsOf(rules []tagging.Rule) []string {
	fields := map[string]bool{}
	for _, r := range rules {
		for name := range r.Match {
			fields[name] = true
		}
	}
	return append([]string{}, slices.Sorted(maps.Keys(fields))...) // not NULL for no rules
}

func (r *Retagging) add(st *site.Site, p pastGroup, moves map[[2]string]*Retagged) {
	r.Groups, r.Tasks, r.Jobs = r.Groups+1, r.Tasks+p.Tasks, r.Jobs+p.Jobs
	t, err := p.tag(st)
	m := Retagged{Old: p.Share}
	if err == nil && t.Share != 0 {
		m.New, m.Same = Path(st, t.Share), t.Share == p.ShareID
	} else {
		m.Same = p.ShareID == 0
		r.miss(p, t, err)
	}
	if !m.Same {
		r.Changed += p.Tasks
	}
	of := moves[[2]string{m.Old, m.New}]
	if of == nil {
		of = &m
		moves[[2]string{m.Old, m.New}] = of
	}
	of.Tasks, of.Jobs = of.Tasks+p.Tasks, of.Jobs+p.Jobs
}

// tag is tagTask for a task that was: one that named its share keeps it, by its id, under whatever name it has.
func (p pastGroup) tag(st *site.Site) (Tag, error) {
	if !p.Named {
		return Again(st, p.Attributes), nil
	}
	i, ok := st.Tree.ByID(p.OwnID)
	if !ok || !st.Tree.Leaf(i) {
		return Tag{}, fmt.Errorf("the task names %s, which is no leaf then", p.Own)
	}
	t := Tag{Share: p.OwnID}
	if st.Tags == nil {
		return t, nil
	}
	if path, ok := st.Tags.TagJob(p.Attributes); ok {
		var err error
		t.Share, err = Leaf(st, path)
		return t, err
	}
	return t, nil
}

func (r *Retagging) miss(p pastGroup, t Tag, err error) {
	if len(r.Unmatched) == mostUnmatched {
		return
	}
	n := NoShare{Old: p.Share, Verdict: t.By.Verdict, Reason: t.Reason, Attributes: p.Attributes, Tasks: p.Tasks, Jobs: p.Jobs, Example: p.Example}
	if err != nil {
		n.Verdict, n.Reason = "invalid", err.Error()
	}
	r.Unmatched = append(r.Unmatched, n)
}
