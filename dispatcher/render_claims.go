package dispatcher

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/machine"
	"github.com/divvyhq/divvy/dispatcher/resource"
)

// claimsWithin bounds how long a pull waits until the machine of this daemon has the grant, which says where the claims of its jobs are.
const claimsWithin = 5 * time.Second

// addClaims tells jobs that hold claims where these are, and which devices they have. The claims are as of a batch that has the grants, or a
// later one: a lease keeps its claims where they are.
func (d *Dispatcher) addClaims(ctx context.Context, runs []Run, seq int64) error {
	if !slices.ContainsFunc(runs, func(r Run) bool { return len(r.Claims) > 0 }) {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, claimsWithin, ErrUnavailable)
	defer cancel()
	for !d.eye.has(ctx, seq) {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(awaitFirst):
		}
	}
	return d.eye.machine(ctx, func(m *machine.Machine) {
		for i := range runs {
			runs[i].Env = withClaims(runs[i].Env, runs[i].Claims, m.View().Claim)
		}
	})
}

// withClaims is the environment of a job that holds claims.
func withClaims(env map[string]string, ids []int64, claim func(id int64) (gate.Shown, bool)) map[string]string {
	env = maps.Clone(env) // other jobs of the task have it too
	if env == nil {
		env = map[string]string{}
	}
	for _, id := range ids {
		c, ok := claim(id)
		if !ok {
			continue // the lease has ended by now
		}
		name := "DIVVY_CLAIM_" + resource.EnvName(c.Template.Name)
		if c.Local {
			env[name+"_NODE"] = c.Place.Node
		}
		if len(c.Devices) > 0 {
			env[name+"_DEVICES"] = strings.Join(c.Devices, ",")
		}
	}
	return env
}
