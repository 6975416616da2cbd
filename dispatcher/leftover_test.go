package dispatcher

import (
	"fmt"
	"strings"
)

// leftOver says all that is known of jobs that never ran: their rows and those of their claims, and what each daemon has of
// their windows and gangs.
func (f *fixture) leftOver(daemons []*Dispatcher) string {
	var out strings.Builder
	for _, sql := range []string{
		"SELECT 'job', j.*, s.cores, s.claims FROM jobs j JOIN shapes s ON s.id = j.shape_id",
		"SELECT 'claim', c.* FROM resource_claims c WHERE c.id IN (SELECT unnest(claims) FROM jobs)",
		"SELECT 'gang', g.* FROM claim_gangs g WHERE g.claim_id IN (SELECT unnest(claims) FROM jobs)",
		"SELECT 'lease', l.* FROM leases l",
	} {
		var rows []string
		f.scan(&rows, "SELECT coalesce(array_agg(x::text), '{}') FROM ("+sql+") x")
		for _, row := range rows {
			fmt.Fprintln(&out, row)
		}
	}
	for i, d := range daemons {
		fmt.Fprintf(&out, "daemon %d:\n%s", i, d.leftOver())
	}
	return out.String()
}

// leftOver is the same of one daemon.
func (d *Dispatcher) leftOver() string {
	var out strings.Builder
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, w := range d.state.windows {
		if w.ready != 0 || len(w.jobs) > 0 {
			fmt.Fprintf(&out, "window %v: %d ready, jobs %+v, cursor %v, end %v, behind %v, reading %v, doubt %v, parked %d, opened %v, slice %v, ground %+v\n",
				key, w.ready, w.jobs, w.cursor, w.end, w.behind, w.reading, w.doubt, w.parked, w.opened, w.slice, w.ground)
		}
	}
	for _, c := range d.state.claims.by {
		fmt.Fprintf(&out, "claim %+v\n", *c)
	}
	for id, g := range d.state.gangs.by {
		fmt.Fprintf(&out, "gang %d: %d members, read %v, reading %v, unmade %v, lacks %q, why %v\n", id, len(g.members), g.read, g.reading, g.unmade, g.lacks, g.why)
	}
	return out.String()
}
