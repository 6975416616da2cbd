package resource

import (
	"fmt"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/shares"
)

// Layout is how a task with groups is made up: so many replicas of the whole, each with groups of members and with
// standalone roles. What the jobs run and need stays with the task: claims do not depend on it.
type Layout struct {
	Replicas  int                    // of the whole; may be 0 once it was scaled
	Groups    []Group                // scaling groups
	Roles     []Role                 // standalone
	Sharing   []Sharing              // at task level; Only names groups and standalone roles
	Templates []shares.ClaimTemplate // declared in the task: they shadow those of the site that have the same name
}

// Group is a scaling group: Replicas times its members.
type Group struct {
	Name     string
	Replicas int
	Members  []Role
	Sharing  []Sharing // at group level; Only names members
}

// Role is a number of jobs of one kind, in a group replica or standalone in a task replica.
type Role struct {
	Name    string
	Count   int
	Sharing []Sharing // at role level; has no Only
}

// Scope says who shares a claim.
type Scope string

// Scopes of a sharing entry.
const (
	All        Scope = "all"         // one claim for all replicas of the level
	PerReplica Scope = "per_replica" // one for each; at role level: for each job
)

// Sharing is an entry that makes claims, or refers to one that was made outside of the task.
type Sharing struct {
	Template string   // of the claims; or
	Claim    string   // the name of a claim made outside: all that refer to it hold that one
	Scope    Scope    // with Template; of a Claim "" or All
	Only     []string // who holds it of those below the level; nil: all
}

// filter is Only in a form that is the same for the same members.
func (s Sharing) filter() string {
	only := slices.Clone(s.Only)
	slices.Sort(only)
	return strings.Join(only, ",")
}

// covers says whether those named so hold what the entry makes.
func (s Sharing) covers(name string) bool { return s.Only == nil || slices.Contains(s.Only, name) }

// children are the names that Only may have at task level.
func (l Layout) children() []string {
	var names []string
	for _, g := range l.Groups {
		names = append(names, g.Name)
	}
	return append(names, roleNames(l.Roles)...)
}

func roleNames(roles []Role) []string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = r.Name
	}
	return names
}

// Scaled is the layout with another number: of replicas of the task (what is ""), of replicas of a group (its name), of
// jobs of a standalone role (its name) or of a member (group/role). The layout itself stays as it is.
func (l Layout) Scaled(what string, n int) (Layout, error) {
	if n < 0 || n > MaxReplicas {
		return l, fmt.Errorf("scale: %d is not in 0 … %d", n, MaxReplicas)
	}
	l.Groups, l.Roles = slices.Clone(l.Groups), slices.Clone(l.Roles)
	if what == "" {
		l.Replicas = n
		return l, nil
	}
	group, member, inGroup := strings.Cut(what, "/")
	for i, g := range l.Groups {
		if g.Name != group {
			continue
		}
		if !inGroup {
			l.Groups[i].Replicas = n
			return l, nil
		}
		l.Groups[i].Members = slices.Clone(g.Members)
		return l, scaleRole(l.Groups[i].Members, member, n, what)
	}
	if inGroup {
		return l, fmt.Errorf("scale: no group %q (known: %s)", group, list(l.children()))
	}
	return l, scaleRole(l.Roles, what, n, what)
}

func scaleRole(roles []Role, name string, n int, what string) error {
	for i := range roles {
		if roles[i].Name == name {
			roles[i].Count = n
			return nil
		}
	}
	return fmt.Errorf("scale: nothing is called %q (known here: %s)", what, list(roleNames(roles)))
}

// list is names for people.
func list(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
