package fold

import (
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
	args := pg.Args{"ids": append([]int64{}, n.IDs...), "lows": append([]int64{}, n.Lows...), "highs": append([]int64{}, n.Highs...),
		"tasks": append([]int64{}, n.Tasks...), "tick": n.Tick, "adopted": n.Adopted}
	var touched []int64
	if err := f.read(ctx, tx, "claims_touched", args, func(r *row) { touched = append(touched, r.int64()) }); err != nil || len(touched) == 0 {
		return c, err
	}
	parties := newPartyRows()
	if err := f.read(ctx, tx, "parties_of", pg.Args{"claims": touched}, func(r *row) { parties.add(r.party()) }); err != nil {
		return c, err
	}
	nths := make([]int64, 0, len(parties.list))
	for _, p := range parties.list {
		nths, touched = append(nths, p.Nth), append(touched, p.Claims...)
	}
	if err := f.read(ctx, tx, "claim_jobs_of", pg.Args{"parties": nths}, func(r *row) { parties.span(r.partySpan()) }); err != nil {
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
	var broken error
	err := f.read(ctx, tx, "claims_of", pg.Args{"ids": ids}, func(r *row) {
		row, err := r.claim()
		if err != nil {
			broken = err
		}
		c.Rows = append(c.Rows, row)
	})
	if err == nil {
		err = broken
	}
	if err != nil {
		return err
	}
	var number int64
	err = f.read(ctx, tx, "now_and_site", nil, func(r *row) {
		switch e, err := decode(r.latest()); e := e.(type) {
		case entry.Tick:
			c.Now = e.Now
		case entry.Adopted:
			number = e.Number
		default:
			broken = err
		}
	})
	if err == nil {
		err = broken
	}
	if err != nil || number == 0 || f.sites == nil {
		return err
	}
	c.Site, err = f.site(ctx, number)
	return err
}

func (r *row) party() (p Party) {
	p.Nth, p.Task, p.Jobs = r.int64(), r.int64(), r.int64()
	claims, ok := idsOf(r.text())
	r.broken = r.broken || !ok
	p.Claims = claims
	return p
}

// idsOf reads ids that stand between spaces.
func idsOf(text string) (ids []int64, ok bool) {
	for _, field := range strings.Fields(text) {
		id, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return nil, false
		}
		ids = append(ids, id)
	}
	return ids, true
}

func (r *row) partySpan() PartySpan { return PartySpan{r.int64(), r.int64(), r.int64(), r.int32()} }

func (r *row) claim() (c Claim, err error) {
	text := r.text()
	c.MadeAt, c.BoundAt, c.EndedAt = r.moment(), r.moment(), r.moment()
	if err := json.Unmarshal([]byte(text), &c.SavedClaim); err != nil {
		return c, fmt.Errorf("a claim: %w", err)
	}
	return c, nil
}
