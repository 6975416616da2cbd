package fold

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/entry"
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
	err = askOf(ctx, tx, "parties_of", touched, func(r *row) { c.Parties = append(c.Parties, r.party()) })
	if err != nil {
		return c, err
	}
	for _, p := range c.Parties {
		touched = append(touched, p.Claims...)
	}
	return c, f.knowRows(ctx, tx, &c, touched)
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
	for span := range slices.Chunk(r.ids(), 2) {
		p.Spans = append(p.Spans, Span{Low: span[0], High: span[len(span)-1]})
	}
	return p
}

// ids stand between spaces.
func (r *row) ids() (ids []int64) {
	for _, field := range strings.Fields(string(r.next(0))) {
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
