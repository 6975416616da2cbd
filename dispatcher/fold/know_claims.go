package fold

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/internal/pg"
)

// knowClaims reads the claims that a step may change. Most steps change none: then it is one query.
func (f *Folder) knowClaims(ctx context.Context, tx pgx.Tx, n ClaimNeeds) (c Claims, err error) {
	args := pg.Args{"ids": append([]int64{}, n.IDs...), "tick": n.Tick, "adopted": n.Adopted,
		"lows":  list(n.Spans, func(s ClaimSpan) int64 { return s.Low }),
		"highs": list(n.Spans, func(s ClaimSpan) int64 { return s.High }),
		"tasks": list(n.Spans, func(s ClaimSpan) int64 { return s.Task })}
	var touched []int64
	if err := ask(ctx, tx, "claims_touched", args, func(r *row) { touched = append(touched, r.int64()) }); err != nil || len(touched) == 0 {
		return c, err
	}
	parties := newPartyRows()
	if err := askOf(ctx, tx, "parties_of", touched, func(r *row) { parties.add(r.party()) }); err != nil {
		return c, err
	}
	nths := make([]int64, 0, len(parties.list))
	for _, p := range parties.list {
		nths, touched = append(nths, p.Nth), append(touched, p.Claims...)
	}
	if err := askOf(ctx, tx, "claim_jobs_of", nths, func(r *row) { parties.span(r.partySpan()) }); err != nil {
		return c, err
	}
	c.Parties = parties.list
	return c, f.knowRows(ctx, tx, &c, touched)
}

// partyRows are parties whose spans come one after the other.
type partyRows struct {
	list []Party
	at   map[int64]int
}

func newPartyRows() *partyRows { return &partyRows{at: map[int64]int{}} }

func (ps *partyRows) add(p Party) {
	ps.at[p.Nth] = len(ps.list)
	ps.list = append(ps.list, p)
}

func (ps *partyRows) span(s PartySpan) {
	if i, ok := ps.at[s.Party]; ok {
		ps.list[i].Spans = append(ps.list[i].Spans, gate.Span{Low: s.Low, High: s.High})
	}
}

// knowRows reads claims, and what the latest entries say of time and site.
func (f *Folder) knowRows(ctx context.Context, tx pgx.Tx, c *Claims, ids []int64) error {
	var number int64
	err := cmp.Or(
		askOf(ctx, tx, "claims_of", ids, func(r *row) { c.Rows = append(c.Rows, r.claim()) }),
		askAll(ctx, tx, "now_and_site", func(r *row) {
			switch e := r.entry().(type) {
			case entry.Tick:
				c.Now = e.Now
			case entry.Adopted:
				number = e.Number
			}
		}))
	if err != nil || number == 0 || f.sites == nil {
		return err
	}
	c.Site, err = f.site(ctx, number)
	return err
}

func (r *row) party() (p Party) {
	p.Nth, p.Task, p.Jobs = r.int64(), r.int64(), r.int64()
	p.Claims = r.ids()
	return p
}

// ids stand between spaces.
func (r *row) ids() (ids []int64) {
	for _, field := range strings.Fields(r.text()) {
		id, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			r.fail(err)
		}
		ids = append(ids, id)
	}
	return ids
}

func (r *row) partySpan() PartySpan { return PartySpan{r.int64(), r.int64(), r.int64(), r.int32()} }

func (r *row) claim() (c Claim) {
	text := r.text()
	c.MadeAt, c.BoundAt, c.EndedAt = r.moment(), r.moment(), r.moment()
	if err := json.Unmarshal([]byte(text), &c.SavedClaim); err != nil {
		r.fail(fmt.Errorf("a claim: %w", err))
	}
	return c
}
