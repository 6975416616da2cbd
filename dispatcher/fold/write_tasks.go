package fold

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

var overColumns = []string{"low", "high", "task", "nth", "at", "state"}

func (o Over) columns() []any { return []any{o.Low, o.High, o.Task, o.Nth, o.At, byte(o.State)} }

// stepRow is a row of steps beside the tasks.
type stepRow struct {
	from Position
	seq  int64
	at   time.Time // of the last batch
}

// step says which tasks have changed, if any has.
func (w writer) step(s stepRow, c Changes) {
	w.add("add_step", len(c.Sums.Tasks), pg.Args{"seq": s.seq, "after": s.from.Seq, "at": s.at,
		"tasks": list(c.Sums.Tasks, func(c TaskCount) int64 { return c.Task })})
}

func (w writer) tasks(c TaskChanges) {
	w.add("pause_tasks", len(c.Paused), pg.Args{"tasks": c.Paused})
	w.add("resume_tasks", len(c.Resumed), pg.Args{"tasks": c.Resumed})
	w.add("settle_kills", len(c.Settled), pg.Args{"nths": c.Settled})
	w.add("settle_moves", len(c.Settled), pg.Args{"nths": c.Settled})
	w.add("add_kills", len(c.Kills), pg.Args{
		"nths":     list(c.Kills, func(k Kill) int64 { return k.Nth }),
		"tasks":    list(c.Kills, func(k Kill) int64 { return k.Task }),
		"lows":     list(c.Kills, func(k Kill) int64 { return k.Low }),
		"highs":    list(c.Kills, func(k Kill) int64 { return k.High }),
		"reasons":  list(c.Kills, func(k Kill) string { return k.Reason }),
		"graces_s": list(c.Kills, func(k Kill) int32 { return k.GraceS }),
		"idle":     list(c.Kills, func(k Kill) bool { return k.Idle })})
	w.add("add_moves", len(c.Moves), pg.Args{
		"nths":    list(c.Moves, func(m Move) int64 { return m.Nth }),
		"tasks":   list(c.Moves, func(m Move) int64 { return m.Task }),
		"lows":    list(c.Moves, func(m Move) int64 { return m.Low }),
		"highs":   list(c.Moves, func(m Move) int64 { return m.High }),
		"ats":     list(c.Moves, func(m Move) time.Time { return m.At }),
		"froms":   list(c.Moves, func(m Move) int32 { return int32(m.From) }),
		"shares":  list(c.Moves, func(m Move) int32 { return int32(m.Share) }),
		"places":  list(c.Moves, func(m Move) int64 { return m.Place }),
		"running": list(c.Moves, func(m Move) bool { return m.Running })})
}

// claimColumns are those of claims, for whoever reads it by SQL; saved has all.
type claimColumns struct {
	id, task, lookUS, idleUS  int64
	key, state, node, devices string
	queue                     shares.QueueID
	share                     shares.ShareID
	missing                   bool
	sharers, jobs             int
	madeUS, boundUS, endedUS  int64
	saved, template           string
	payer                     gate.Payer
}

func (r Claim) column() (c claimColumns) {
	c = claimColumns{id: r.ID, task: r.Task, key: r.Key, state: string(r.Claim.State), node: r.Claim.Place.Node, queue: r.Queue,
		share: r.Claim.Charge.Payer.Leaf, sharers: r.Claim.Sharers, jobs: r.Claim.Jobs,
		madeUS: micros(r.MadeAt), boundUS: micros(r.BoundAt), endedUS: micros(r.EndedAt)}
	live := r.EndedAt.IsZero()
	c.missing = live && r.Claim.Missing && !r.Claim.External && r.Claim.State == resource.ClaimPending
	if live && r.Claim.State == resource.ClaimBound && !r.Claim.Since.IsZero() {
		c.idleUS, c.lookUS = micros(r.Claim.Since), micros(r.Claim.Since.Add(r.Claim.Template.Linger))
	}
	template, _ := json.Marshal(r.Claim.Template)
	saved, _ := json.Marshal(r.SavedClaim)
	c.devices, c.template, c.saved, c.payer = arrayOf(r.Claim.Devices), string(template), string(saved), r.Payer
	return c
}

func (w writer) claims(c ClaimChanges) {
	rows := list(c.Rows, Claim.column)
	w.add("set_claims", len(rows), pg.Args{
		"ids":         list(rows, func(c claimColumns) int64 { return c.id }),
		"tasks":       list(rows, func(c claimColumns) int64 { return c.task }),
		"keys":        list(rows, func(c claimColumns) string { return c.key }),
		"states":      list(rows, func(c claimColumns) string { return c.state }),
		"queues":      list(rows, func(c claimColumns) int32 { return int32(c.queue) }),
		"nodes":       list(rows, func(c claimColumns) string { return c.node }),
		"devices":     list(rows, func(c claimColumns) string { return c.devices }),
		"shares":      list(rows, func(c claimColumns) int32 { return int32(c.share) }),
		"sharers":     list(rows, func(c claimColumns) int32 { return int32(c.sharers) }),
		"jobs":        list(rows, func(c claimColumns) int32 { return int32(c.jobs) }),
		"missing":     list(rows, func(c claimColumns) bool { return c.missing }),
		"made_us":     list(rows, func(c claimColumns) int64 { return c.madeUS }),
		"bound_us":    list(rows, func(c claimColumns) int64 { return c.boundUS }),
		"idle_us":     list(rows, func(c claimColumns) int64 { return c.idleUS }),
		"look_us":     list(rows, func(c claimColumns) int64 { return c.lookUS }),
		"ended_us":    list(rows, func(c claimColumns) int64 { return c.endedUS }),
		"sharing_ids": list(rows, func(c claimColumns) string { return c.payer.SharingID }),
		"labels":      list(rows, func(c claimColumns) string { return c.payer.Label }),
		"templates":   list(rows, func(c claimColumns) string { return c.template }),
		"saved":       list(rows, func(c claimColumns) string { return c.saved })})
	w.add("drop_party_jobs", len(c.Over), pg.Args{"parties": c.Over})
	w.add("drop_parties", len(c.Over), pg.Args{"parties": c.Over})
	w.add("set_parties", len(c.Parties), pg.Args{
		"nths":   list(c.Parties, func(p Party) int64 { return p.Nth }),
		"tasks":  list(c.Parties, func(p Party) int64 { return p.Task }),
		"jobs":   list(c.Parties, func(p Party) int64 { return p.Jobs }),
		"claims": list(c.Parties, func(p Party) string { return arrayOf(p.Claims) })})
	w.add("set_claim_jobs", len(c.Spans), pg.Args{
		"lows":    list(c.Spans, func(s PartySpan) int64 { return s.Low }),
		"highs":   list(c.Spans, func(s PartySpan) int64 { return s.High }),
		"places":  list(c.Spans, func(s PartySpan) int32 { return s.Order }),
		"parties": list(c.Spans, func(s PartySpan) int64 { return s.Party })})
}

// arrayOf writes values as PostgreSQL writes an array.
func arrayOf[V int64 | string](values []V) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = `"` + escapes.Replace(fmt.Sprint(v)) + `"`
	}
	return "{" + strings.Join(texts, ",") + "}"
}

// escapes are for what stands between quotes.
var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
