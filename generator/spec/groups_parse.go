package spec

import (
	"strconv"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares"
)

// nested are the keys whose faults are looked for further down: what stands there may be a page long.
var nested = map[string]bool{"groups": true, "roles": true, "sharing": true, "claim_templates": true, "needs": true}

// maxLocated bounds the faults that are looked for: nobody reads on after as many.
const maxLocated = 200

// locate goes down from v to what field is about, such as [0].members[1].role, or as far as there is something. It is the
// absent value where reading has said already what is wrong with just that.
func locate(v strict.Value, field string) strict.Value {
	for field != "" {
		part := field[1:]
		if end := strings.IndexAny(part, ".["); end >= 0 {
			part = part[:end]
		}
		below := child(v, strings.TrimSuffix(part, "]"), field[0] == '[')
		if !below.Present() {
			return v
		}
		v, field = below, field[1+len(part):]
	}
	if v.Failed() {
		return strict.Value{}
	}
	return v
}

// child is an element of a list or a value of a mapping; the absent value if there is none.
func child(v strict.Value, part string, isElement bool) (below strict.Value) {
	switch {
	case isElement && v.IsList():
		list, _ := v.List()
		if i, err := strconv.Atoi(part); err == nil && i < len(list) {
			return list[i]
		}
	case !isElement && v.IsMapping():
		v.Entries(func(name string, _, val strict.Value) {
			if name == part {
				below = val
			}
		})
	}
	return below
}

// each reads a list of mappings; an empty list is a problem.
func each[T any](to *[]T, read func(*T, strict.Value)) func(strict.Value) {
	return func(v strict.Value) {
		list, ok := v.List()
		if ok && len(list) == 0 {
			v.Failf("%s is empty", v.Name())
		}
		*to = make([]T, len(list))
		for i, e := range list {
			read(&(*to)[i], e)
		}
	}
}

// replicas reads a number of copies or jobs; tasks begin with one at least.
func replicas(to *int) func(strict.Value) {
	return func(v strict.Value) {
		n, _ := v.Int(1, resource.MaxReplicas)
		*to = int(n)
	}
}

// units reads amounts by name.
func units(to *map[string]int64) func(strict.Value) {
	return func(v strict.Value) {
		*to = map[string]int64{}
		v.Entries(func(name string, _, n strict.Value) { (*to)[name], _ = n.Int(1, shares.MaxResourceUnits) })
	}
}

func readGroup(g *Group, v strict.Value) {
	v.Mapping(strict.Fields{
		"name":     func(v strict.Value) { g.Name, _ = v.NonEmpty() },
		"replicas": replicas(&g.Replicas),
		"members":  each(&g.Members, readMember),
		"sharing":  each(&g.Sharing, readSharing),
	}).Require("name", "members")
}

func readMember(m *Member, v strict.Value) {
	v.Mapping(strict.Fields{
		"role":  func(v strict.Value) { m.Role, _ = v.NonEmpty() },
		"count": replicas(&m.Count),
		"command": func(v strict.Value) {
			var ok bool
			if m.Command, ok = v.Strings(); ok && len(m.Command) == 0 {
				v.Failf("%s is empty", v.Name())
			}
		},
		"requirements": func(v strict.Value) {
			m.Requirements = &Requirements{}
			v.Mapping(m.Requirements.fields())
		},
		"resources": units(&m.Resources),
		"sharing":   each(&m.Sharing, readSharing),
	}).Require("role")
}

// readSharing keeps an only that is empty, as []: Check says what is wrong with it.
func readSharing(s *Sharing, v strict.Value) {
	v.Mapping(strict.Fields{
		"template": func(v strict.Value) { s.Template, _ = v.NonEmpty() },
		"claim":    func(v strict.Value) { s.Claim, _ = v.NonEmpty() },
		"scope":    func(v strict.Value) { s.Scope, _ = v.OneOf(string(resource.All), string(resource.PerReplica)) },
		"only":     func(v strict.Value) { s.Only, _ = v.Strings() },
	})
}

func readClaimTemplate(t *ClaimTemplate, v strict.Value) {
	v.Mapping(strict.Fields{
		"name":      func(v strict.Value) { t.Name, _ = v.NonEmpty() },
		"resources": units(&t.Resources),
		"node":      func(v strict.Value) { t.Node, _ = v.Bool() },
		"devices": func(v strict.Value) {
			t.Devices = map[string]int{}
			v.Entries(func(kind string, _, val strict.Value) {
				n, _ := val.Int(1, resource.MaxDevices)
				t.Devices[kind] = int(n)
			})
		},
		"max_sharers": func(v strict.Value) {
			n, _ := v.Int(1, resource.MaxJobs)
			t.MaxSharers = int(n)
		},
		"linger": func(v strict.Value) {
			if d, ok := v.Duration(time.Duration(0)); ok {
				linger := shares.Duration(d)
				t.Linger = &linger
			}
		},
		"gang": func(v strict.Value) { t.Gang, _ = v.Bool() },
	}).Require("name")
}
