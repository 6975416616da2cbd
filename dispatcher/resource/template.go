package resource

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/shares"
)

// Bounds of one template.
const (
	MaxDevices        = 1000      // of one kind
	maxTemplateLinger = 24 * 3600 // seconds
)

// Local says whether the sharers of such a claim must run on one node. Claims that are units of resources only may be
// held from anywhere.
func Local(t shares.ClaimTemplate) bool { return t.Node || len(t.Devices) > 0 }

// PlaceOf is where a claim is that a slot binds: one of resources alone is at no node.
func PlaceOf(t shares.ClaimTemplate, slot Place) Place {
	if !Local(t) {
		slot.Node = ""
	}
	return slot
}

// Template finds a template by its name: that of the task, else that of the site; ok is false where there is neither, and
// the jobs wait with claim_template_missing.
func (l Layout) Template(name string, site []shares.ClaimTemplate) (t shares.ClaimTemplate, ok bool) {
	for _, from := range [][]shares.ClaimTemplate{l.Templates, site} {
		i := slices.IndexFunc(from, func(t shares.ClaimTemplate) bool { return t.Name == name })
		if i >= 0 {
			return from[i], true
		}
	}
	return shares.ClaimTemplate{}, false
}

// Missing are the templates that the layout refers to and that neither the task nor the site has, in order.
func (l Layout) Missing(site []shares.ClaimTemplate) (names []string) {
	l.crowds(func(c sharedBy) {
		if _, ok := l.Template(c.Template, site); !ok && c.Template != "" && !slices.Contains(names, c.Template) {
			names = append(names, c.Template)
		}
	})
	return names
}

// EnvName is what stands for a template in the names of environment variables: DIVVY_CLAIM_<EnvName>_DEVICES.
func EnvName(template string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, template)
}

// templates checks those that the task declares.
func (c *claimCheck) templates(l Layout) {
	for i, t := range l.Templates {
		field := fmt.Sprintf("claim_templates[%d]", i)
		c.word(field+".name", t.Name)
		same := slices.IndexFunc(l.Templates[:i], func(o shares.ClaimTemplate) bool { return EnvName(o.Name) == EnvName(t.Name) })
		switch {
		case same < 0 || t.Name == "":
		case l.Templates[same].Name == t.Name:
			c.add(field+".name", t.Name+" is declared twice", "leave one of them out")
		default:
			c.add(field+".name", fmt.Sprintf("%s and %s have the same name in the environment of a job: %s", l.Templates[same].Name, t.Name, EnvName(t.Name)), "rename one of them")
		}
		c.template(field, t)
	}
}

func (c *claimCheck) template(field string, t shares.ClaimTemplate) {
	if len(t.Resources) == 0 && !Local(t) {
		c.add(field, "takes nothing", "resources: {maya: 1}, node: true or devices: {gpu: 1}")
	}
	if len(t.Resources) > maxEntries || len(t.Devices) > maxEntries {
		c.add(field, fmt.Sprintf("has more than %d resources or devices", maxEntries), "")
		return
	}
	for _, name := range slices.Sorted(maps.Keys(t.Resources)) {
		if name == "" {
			c.add(field+".resources", "has an empty name", "")
		}
		c.between(field+".resources."+name, t.Resources[name], 1, shares.MaxResourceUnits)
	}
	for _, kind := range slices.Sorted(maps.Keys(t.Devices)) {
		c.word(field+".devices", kind)
		c.between(field+".devices."+kind, int64(t.Devices[kind]), 1, MaxDevices)
	}
	c.between(field+".max_sharers", int64(t.MaxSharers), 0, MaxJobs)
	if s := t.Linger.Seconds(); s < 0 || s > maxTemplateLinger {
		c.add(field+".linger", fmt.Sprintf("%v is not in 0s … 24h", t.Linger), "60s is the default")
	}
	if t.Gang && !Local(t) {
		c.add(field+".gang", "is for claims that are bound to a node", "add node: true, or devices")
	}
}

// MaxGang bounds the jobs that start together: they are leased in one statement.
const MaxGang = 1000

// gangs checks that no gang is larger than what may hold its claim at a time, or may start at once: it could never start. What
// is of two gangs would have to wait for both.
func (c *claimCheck) gangs(l Layout) {
	said := map[string]bool{}
	l.crowds(func(by sharedBy) {
		i := slices.IndexFunc(l.Templates, func(t shares.ClaimTemplate) bool { return t.Name == by.Template })
		if i < 0 || by.Claim != "" || said[by.Template] || !l.Templates[i].Gang {
			return
		}
		switch t := l.Templates[i]; {
		case t.MaxSharers > 0 && by.each > int64(t.MaxSharers):
			c.add(fmt.Sprintf("claim_templates[%d].max_sharers", i),
				fmt.Sprintf("%d is less than the %d jobs that share a claim of %s and start together", t.MaxSharers, by.each, by.field), "raise it, or leave gang out")
		case by.each > MaxGang:
			c.add(fmt.Sprintf("claim_templates[%d].gang", i),
				fmt.Sprintf("%d jobs share a claim of %s, more than %d cannot start together", by.each, by.field, MaxGang), "a narrower scope, or leave gang out")
		default:
			return
		}
		said[by.Template] = true
	})
	for i, g := range l.Groups {
		for j, m := range g.Members {
			c.oneGang(l, fmt.Sprintf("groups[%d].members[%d]", i, j), slices.Concat(covering(l.Sharing, g.Name), covering(g.Sharing, m.Name), m.Sharing))
		}
	}
	for i, r := range l.Roles {
		c.oneGang(l, fmt.Sprintf("roles[%d]", i), slices.Concat(covering(l.Sharing, r.Name), r.Sharing))
	}
}

// covering are the entries of a level that are for those named so.
func covering(entries []Sharing, name string) (covering []Sharing) {
	for _, s := range entries {
		if s.covers(name) {
			covering = append(covering, s)
		}
	}
	return covering
}

// oneGang checks that the jobs of a role hold one claim at most that they start together by.
func (c *claimCheck) oneGang(l Layout, field string, holds []Sharing) {
	first := ""
	for _, s := range holds {
		switch t, _ := l.Template(s.Template, nil); {
		case !t.Gang:
		case first != "":
			c.add(field, fmt.Sprintf("its jobs would start together by claims of both %s and %s", first, t.Name), "leave gang out of one of the templates")
			return
		default:
			first = t.Name
		}
	}
}
