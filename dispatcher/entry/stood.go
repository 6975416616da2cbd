package entry

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// Stood says where a pool stands, as far as no other entry and no table says it: a machine that is made of the tables has not seen the
// grants before them. Whoever leads writes it now and then for each pool, and once without a Pool for what is of none. Whoever
// applies it has these values from then on in place of its own, all of them: so all machines are equal after it, those too that
// began with tables.
type Stood struct {
	Pool   string     `json:"pool"`             // empty: what is of no pool
	Grants uint64     `json:"grants,omitempty"` // of the pool under this site
	Shares []Standing `json:"shares,omitempty"` // of the pool, where there is something to say, by share
	Users  []Serving  `json:"users,omitempty"`  // in the pool, of the shares that give turns, by share and user
	Debts  []Debt     `json:"debts,omitempty"`  // of the pool, in the order of the tree
	Rest   *Rest      `json:"rest,omitempty"`   // of no pool
}

// Same says whether the log has the same text for both.
func (e Stood) Same(other Stood) bool {
	a, err := json.Marshal(e)
	b, failed := json.Marshal(other)
	return err == nil && failed == nil && bytes.Equal(a, b)
}

// Standing is what a share has missed in a pool, in thousandths of a unit times seconds, and the number of its last grant.
type Standing struct {
	Share shares.ShareID `json:"share"`
	Lag   float64        `json:"lag,omitempty"`   // as it is shown
	Past  float64        `json:"past,omitempty"`  // that fades with its half_life and shifts its target
	Grant uint64         `json:"grant,omitempty"` // of a leaf
}

// Serving is when a user of a share was last given a job in a pool.
type Serving struct {
	Share shares.ShareID `json:"share"`
	User  string         `json:"user"`
	Grant uint64         `json:"grant"`
}

// Debt is what is left of Owed, and until when.
type Debt struct {
	Owed
	Until time.Time `json:"until"`
}

// Hole is a queue that fails nearly all that it gets.
type Hole struct {
	Queue  shares.QueueID `json:"queue"`
	ProbeS int32          `json:"probe_s"` // seconds between its jobs
	Next   time.Time      `json:"next"`    // when it gets the next one
}

// Rest is what is of no pool.
type Rest struct {
	PlansAt  time.Time `json:"plans_at"`           // the moment of the plans in force
	Servings uint64    `json:"servings,omitempty"` // grants in shares that give turns
	Elders   Elders    `json:"elders"`
	Waited   []Waited  `json:"waited,omitempty"`
	Holes    []Hole    `json:"holes,omitempty"` // by queue
}

// Elders says which jobs were made so long ago that they prefer no place any more.
type Elders struct {
	Newest int64       `json:"newest"`
	UpTo   int64       `json:"up_to"`
	IDs    []int64     `json:"ids,omitempty"` // of marks: each was there
	Times  []time.Time `json:"times,omitempty"`
}

// Waited are the IDs that share a resource, those first that were granted some longest ago.
type Waited struct {
	Ref   string         `json:"ref"`
	Queue shares.QueueID `json:"queue,omitempty"`
	IDs   []string       `json:"ids"`
}
