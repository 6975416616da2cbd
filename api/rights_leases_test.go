package api

import (
	"fmt"
	"testing"

	"github.com/divvyhq/divvy/internal/access"
)

// A pilot's token that is for some queues keeps and ends leases at these only.
func TestPilotsTokenIsForItsQueues(t *testing.T) {
	b := newBench(t, withRoles)
	for queue, want := range map[string]int{"CERN": 200, "BNL": 403} { // leases of the fake are called like their queues
		for path, body := range map[string]string{
			"/v1/leases/renew":  `{"pilot":"p","leases":[{"lease":"CERN"},{"lease":%q}]}`,
			"/v1/leases/finish": `{"pilot":"p","results":[{"lease":"CERN","outcome":"finished"},{"lease":%q,"outcome":"finished"}]}`,
		} {
			w := b.call("POST", path, fmt.Sprintf(body, queue), "Authorization", bearer(access.Pilot))
			if w.Code != want {
				t.Errorf("a lease at %s, %s: %d %s", queue, path, w.Code, w.Body)
			}
		}
	}
}
