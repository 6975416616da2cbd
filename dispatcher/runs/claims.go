package runs

import (
	"maps"
	"strings"

	"github.com/divvyhq/divvy/dispatcher/gate"
	"github.com/divvyhq/divvy/dispatcher/resource"
)

// AddClaims tells a job that holds claims where these are, and which devices they have. Others keep what they have.
func (r *Run) AddClaims(claim func(id int64) (gate.Shown, bool)) {
	if len(r.Claims) == 0 {
		return
	}
	env := maps.Clone(r.Env) // other jobs of the task have it too
	if env == nil {
		env = map[string]string{}
	}
	for _, id := range r.Claims {
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
	r.Env = env
}
