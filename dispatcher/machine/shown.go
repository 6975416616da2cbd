package machine

import "github.com/divvyhq/divvy/dispatcher/gate"

// Claims returns all claims that are not over, and the jobs that share them; nil: there are none.
func (v View) Claims() *gate.Saved { return v.state.claims.Save() }

// Claim returns one of them.
func (v View) Claim(id int64) (gate.Shown, bool) { return v.state.claims.Claim(id) }

// Lease returns the lease of a job; false if it has none.
func (v View) Lease(job int64) (Lease, bool) { return v.state.leases.Of(job) }
