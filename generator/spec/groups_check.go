package spec

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// groups checks how a task with groups is made up, and that no other one says what only such a task has.
func (c *checker) groups(s *Spec) {
	if s.Grouped() {
		var faults resource.Faults
		errors.As(s.Layout().Validate(), &faults)
		for _, f := range faults {
			if !slices.ContainsFunc(c.faults, func(said Fault) bool { return said.Field == f.Field }) { // by the tags
				c.hint(f.Field, f.Message, f.Hint)
			}
		}
		env := s.envSize()
		for i, g := range s.Groups {
			c.members(fmt.Sprintf("groups[%d].members", i), s, g.Members, env)
		}
		c.members("roles", s, s.Roles, env)
		return
	}
	for _, f := range []struct {
		field string
		given bool
	}{{"replicas", s.Replicas != 0}, {"claim_templates", len(s.ClaimTemplates) > 0}, {"sharing", len(s.Sharing) > 0}} {
		if f.given {
			c.hint(f.field, "is for tasks with groups or roles", "roles: [{role: worker, count: 10}] in place of count: 10")
		}
	}
}

// members checks what roles run and need. Their environment is that of the task, env bytes, and was looked at once.
func (c *checker) members(field string, s *Spec, members []Member, env int) {
	for i, m := range members {
		if c.full() {
			return
		}
		at := fmt.Sprintf("%s[%d].", field, i)
		switch {
		case len(m.Command) > 0:
			c.payload(at+"command", job.Payload{Command: m.Command, Matrix: s.Matrix}, env)
		case len(s.Command) == 0:
			c.hint(at+"command", "is missing", "here, or for all roles as the task's command")
		}
	}
}

// units is the name of what a job asks for, in itself; the site says whether there is such a thing.
func units(ref string) (wrong, hint string) {
	name, key := shares.CutResource(ref)
	switch {
	case name == shares.IO:
		return ": io is no resource that is asked for by name", "say io_intensity of the task, in MB/s"
	case name == "", strings.Contains(ref, ":") && key == "":
		return fmt.Sprintf(" %.80q is no resource", ref), `maya, or "table:orders" of a keyed family`
	case len(ref) > maxName || !utf8.ValidString(ref) || strings.ContainsFunc(ref, unicode.IsControl):
		return fmt.Sprintf(" %.80q is no resource", ref), fmt.Sprintf("up to %d bytes of text", maxName)
	}
	return "", ""
}

// Known refuses resources that the site does not have.
func (s *Spec) Known(v shares.Version) error {
	var faults Faults
	look := func(field string, units map[string]int64) {
		for _, ref := range slices.Sorted(maps.Keys(units)) {
			if _, ok := v.Resource(ref); !ok {
				faults.Add(field, v.NoResource(ref), "resources of the site: "+v.ResourceNames())
			}
		}
	}
	look("resources", s.Resources)
	for i, g := range s.Groups {
		for j, m := range g.Members {
			look(fmt.Sprintf("groups[%d].members[%d].resources", i, j), m.Resources)
		}
	}
	for i, m := range s.Roles {
		look(fmt.Sprintf("roles[%d].resources", i), m.Resources)
	}
	for i, t := range s.ClaimTemplates {
		look(fmt.Sprintf("claim_templates[%d].resources", i), t.Resources)
	}
	return faults.Err()
}
