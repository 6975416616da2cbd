package spec

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/dispatcher/resource"
)

// Scaling gives a number of a task of groups and roles another value: of the task's replicas, of a group's, or of the jobs of
// a role.
type Scaling struct {
	Group    string `json:"group,omitempty" doc:"The replicas of this group; with role, the jobs of its member."`
	Role     string `json:"role,omitempty" doc:"The jobs of this standalone role; with group, of the member. Neither: the replicas of the task."`
	Replicas int    `json:"replicas" doc:"How many there are from now on, 0 … 100000."`
}

// Says is a number of what is scaled, for the audit.
func (s Scaling) Says(n int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s %s", n, s.Group, s.Role))
}

// what is scaled, as resource.Layout.Scaled takes it.
func (s Scaling) what() string {
	if s.Group != "" && s.Role != "" {
		return s.Group + "/" + s.Role
	}
	return s.Group + s.Role
}

// Number is what stands in a layout now. Error: Faults that say what there is instead.
func (s Scaling) Number(l resource.Layout) (int, error) {
	if s.Replicas < 0 || s.Replicas > resource.MaxReplicas {
		return 0, Invalid("replicas", fmt.Sprintf("%d is not in 0 … %d", s.Replicas, resource.MaxReplicas), "")
	}
	if s.Group == "" {
		return s.standalone(l)
	}
	i := slices.IndexFunc(l.Groups, func(g resource.Group) bool { return g.Name == s.Group })
	if i < 0 {
		return 0, Invalid("group", fmt.Sprintf("there is no group %q", s.Group), "groups: "+groupNames(l.Groups))
	}
	g := l.Groups[i]
	if s.Role == "" {
		return g.Replicas, nil
	}
	if i = roleAt(g.Members, s.Role); i < 0 {
		return 0, Invalid("role", fmt.Sprintf("group %s has no member %q", s.Group, s.Role), "members: "+namesOf(g.Members))
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
	return 0, Invalid("role", fmt.Sprintf("there is no standalone role %q", s.Role), hint)
}

// Apply is the layout with the new number. Error: Faults, where it would be too large.
func (s Scaling) Apply(from resource.Layout) (resource.Layout, error) {
	to, err := from.Scaled(s.what(), s.Replicas)
	if err != nil {
		return to, err
	}
	var faults Faults
	var wrong resource.Faults
	if errors.As(to.Validate(), &wrong) {
		for _, f := range wrong {
			faults.Add("replicas", f.Message, f.Hint)
		}
	}
	return to, faults.Err()
}

// ScaledLayout is how the task is made up by the numbers that it was scaled to.
func ScaledLayout(s *Spec, scaled []Scaling) (resource.Layout, error) {
	l := s.Layout()
	for _, n := range scaled {
		var err error
		if l, err = l.Scaled(n.what(), n.Replicas); err != nil {
			return l, err
		}
	}
	return l, nil
}

// WithScaling are the numbers with one more, or another one.
func WithScaling(scaled []Scaling, s Scaling) []Scaling {
	scaled = slices.DeleteFunc(slices.Clone(scaled), func(o Scaling) bool { return o.what() == s.what() })
	return append(scaled, s)
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
