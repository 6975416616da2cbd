package fold

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// claimColumns are those of claims, for whoever reads it by SQL; Saved has all.
type claimColumns struct {
	ID, Task, LookUS, IdleUS  int64
	Key, State, Node, Devices string
	Queue                     shares.QueueID
	Share                     shares.ShareID
	Missing                   bool
	Sharers, Jobs             int
	MadeUS, BoundUS, EndedUS  int64
	Saved, Template           string
	gate.Payer
}

func (r Claim) columns() (c claimColumns) {
	c = claimColumns{ID: r.ID, Task: r.Task, Key: r.Key, State: string(r.Claim.State), Node: r.Claim.Place.Node, Queue: r.Queue, Payer: r.Payer,
		Share: r.Claim.Charge.Payer.Leaf, Sharers: r.Claim.Sharers, Jobs: r.Claim.Jobs, Devices: arrayOf(r.Claim.Devices),
		MadeUS: micros(r.MadeAt), BoundUS: micros(r.BoundAt), EndedUS: micros(r.EndedAt)}
	live := r.EndedAt.IsZero()
	c.Missing = live && r.Claim.Missing && !r.Claim.External && r.Claim.State == resource.ClaimPending
	if live && r.Claim.State == resource.ClaimBound && !r.Claim.Since.IsZero() {
		c.IdleUS, c.LookUS = micros(r.Claim.Since), micros(r.Claim.Since.Add(r.Claim.Template.Linger))
	}
	template, _ := json.Marshal(r.Claim.Template)
	saved, _ := json.Marshal(r.SavedClaim)
	c.Template, c.Saved = string(template), string(saved)
	return c
}

// partyColumns are those of claim_parties.
type partyColumns struct {
	Nth, Task, Jobs int64
	Claims          string
}

func (p Party) columns() partyColumns { return partyColumns{p.Nth, p.Task, p.Jobs, arrayOf(p.Claims)} }

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
