package generator

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/generator/spec"
)

// scaledLayout is how the task is made up by the numbers that it was scaled to.
func scaledLayout(s *spec.Spec, scaled []Scaling) (resource.Layout, error) {
	l := s.Layout()
	for _, n := range scaled {
		var err error
		if l, err = l.Scaled(n.what(), n.Replicas); err != nil {
			return l, err
		}
	}
	return l, nil
}

// with are the numbers with one more, or another one.
func with(scaled []Scaling, s Scaling) []Scaling {
	scaled = slices.DeleteFunc(slices.Clone(scaled), func(o Scaling) bool { return o.what() == s.what() })
	return append(scaled, s)
}

// what is scaled, as resource.Layout.Scaled takes it.
func (s Scaling) what() string {
	if s.Group != "" && s.Role != "" {
		return s.Group + "/" + s.Role
	}
	return s.Group + s.Role
}

// number is what stands in a layout now. Error: Faults that say what there is instead.
func (s Scaling) number(l resource.Layout) (int, error) {
	if s.Replicas < 0 || s.Replicas > resource.MaxReplicas {
		return 0, spec.Invalid("replicas", fmt.Sprintf("%d is not in 0 … %d", s.Replicas, resource.MaxReplicas), "")
	}
	if s.Group == "" {
		return s.standalone(l)
	}
	i := slices.IndexFunc(l.Groups, func(g resource.Group) bool { return g.Name == s.Group })
	if i < 0 {
		return 0, spec.Invalid("group", fmt.Sprintf("there is no group %q", s.Group), "groups: "+groupNames(l.Groups))
	}
	g := l.Groups[i]
	if s.Role == "" {
		return g.Replicas, nil
	}
	if i = roleAt(g.Members, s.Role); i < 0 {
		return 0, spec.Invalid("role", fmt.Sprintf("group %s has no member %q", s.Group, s.Role), "members: "+namesOf(g.Members))
	}
	return g.Members[i].Count, nil
}

func (s Scaling) standalone(l resource.Layout) (int, error) {
	if s.Role == "" {
		return l.Replicas, nil
	}
	if i := roleAt(l.Roles, s.Role); i >= 0 {
		return l.Roles[i].Count, nil
	}
	hint := "standalone roles: " + namesOf(l.Roles)
	for _, g := range l.Groups {
		if roleAt(g.Members, s.Role) >= 0 {
			hint = s.Role + " is a member of group " + g.Name + ": name the group too"
			break
		}
	}
	return 0, spec.Invalid("role", fmt.Sprintf("there is no standalone role %q", s.Role), hint)
}

// apply is the layout with the new number. Error: Faults, where it would be too large.
func (s Scaling) apply(from resource.Layout) (resource.Layout, error) {
	to, err := from.Scaled(s.what(), s.Replicas)
	if err != nil {
		return to, err
	}
	var faults spec.Faults
	var wrong resource.Faults
	if errors.As(to.Validate(), &wrong) {
		for _, f := range wrong {
			faults.Add("replicas", f.Message, f.Hint)
		}
	}
	return to, faults.Err()
}

func roleAt(roles []resource.Role, name string) int {
	return slices.IndexFunc(roles, func(r resource.Role) bool { return r.Name == name })
}

func namesOf(roles []resource.Role) string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = r.Name
	}
	return orNone(names)
}

func groupNames(groups []resource.Group) string {
	names := make([]string, len(groups))
	for i, g := range groups {
		names[i] = g.Name
	}
	return orNone(names)
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
