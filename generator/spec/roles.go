package spec

import (
	"errors"
	"slices"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// WithTemplates is the task with the templates of the site that it refers to among its own: its claims are made by those of
// the moment of submission. One that the site does not have may come later.
func (s Spec) WithTemplates(site []shares.ClaimTemplate) (Spec, error) {
	var faults Faults
	l := s.Layout()
	used := l.Missing(nil)
	s.ClaimTemplates = slices.Clone(s.ClaimTemplates)
	for _, t := range site {
		if _, own := l.Template(t.Name, nil); !own && slices.Contains(used, t.Name) {
			linger := shares.Duration(t.Linger)
			s.ClaimTemplates = append(s.ClaimTemplates, ClaimTemplate{Name: t.Name, Resources: t.Resources, Node: t.Node, Devices: t.Devices,
				MaxSharers: t.MaxSharers, Linger: &linger, Gang: t.Gang})
		}
	}
	var wrong resource.Faults
	if s.Grouped() && errors.As(s.Layout().Validate(), &wrong) { // what gangs are with a template of the site
		for _, f := range wrong {
			faults.Add(f.Field, f.Message, f.Hint)
		}
	}
	return s, faults.Err()
}

// Member is the role of a job.
func (s *Spec) Member(k resource.JobKey) (m Member, ok bool) {
	roles := s.Roles
	if k.Group != "" {
		i := slices.IndexFunc(s.Groups, func(g Group) bool { return g.Name == k.Group })
		if i < 0 {
			return m, false
		}
		roles = s.Groups[i].Members
	}
	i := slices.IndexFunc(roles, func(m Member) bool { return m.Role == k.Role })
	if i < 0 {
		return m, false
	}
	return roles[i], true
}

// commands are those of roles that have one of their own, as the dispatcher finds them.
func (s *Spec) commands() map[string][]string {
	own := map[string][]string{}
	add := func(prefix string, members []Member) {
		for _, m := range members {
			if len(m.Command) > 0 {
				own[prefix+m.Role] = m.Command
			}
		}
	}
	for _, g := range s.Groups {
		add(g.Name+"/", g.Members)
	}
	add("", s.Roles)
	return own
}
