package spec

import (
	"cmp"
	"time"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// Group is a scaling group of a task: Replicas times its members, in every replica of the task.
type Group struct {
	Name     string    `json:"name" is:"required" doc:"Unique among the task's groups and standalone roles."`
	Replicas int       `json:"replicas,omitempty" is:"1..100000" minimum:"0" doc:"0 = 1."`
	Members  []Member  `json:"members" is:"required some" maxItems:"200" doc:"The roles of a replica of the group."`
	Sharing  []Sharing `json:"sharing,omitempty" is:"some" maxItems:"200" doc:"Claims of all replicas of the group, or of each; only names members."`
}

// Member is a role: so many jobs of one kind. What it does not say is that of the task.
type Member struct {
	Role         string           `json:"role" is:"required" doc:"Name of the role, unique in its group, or among groups and standalone roles."`
	Count        int              `json:"count,omitempty" is:"1..100000" minimum:"0" doc:"Jobs of the role; 0 = 1."`
	Command      []string         `json:"command,omitempty" is:"some empty" maxItems:"1000" doc:"Default: the task's command."`
	Requirements *Requirements    `json:"requirements,omitempty" doc:"Default: the task's requirements."`
	Resources    map[string]int64 `json:"resources,omitempty" is:"1..1000000000 most=200 keys=units" maxProperties:"200" doc:"Units of resources that each job holds; default: the task's."`
	Sharing      []Sharing        `json:"sharing,omitempty" is:"some" maxItems:"200" doc:"Claims of all jobs of the role, or of each; has no only."`
}

// Sharing says who holds a claim together: one of a template, made for the task, or one that was made outside of it.
type Sharing struct {
	Template string   `json:"template,omitempty" doc:"A claim template of the task, else of the site."`
	Claim    string   `json:"claim,omitempty" doc:"Instead of template: a claim made with divvy resource-claim create. It outlives the task."`
	Scope    string   `json:"scope,omitempty" enum:"all,per_replica" doc:"One claim for all replicas of the level, or one for each: of the task, of the group, or for each job of the role. A claim is always all."`
	Only     []string `json:"only,omitempty" is:"empty" maxItems:"200" doc:"Who holds it: groups and standalone roles at task level, members at group level; absent = all."`
}

// ClaimTemplate is what the jobs that share a claim hold together; it takes something, at least a node.
type ClaimTemplate struct {
	Name       string           `json:"name" is:"required" doc:"Shadows a template of the site that has the same name."`
	Resources  map[string]int64 `json:"resources,omitempty" is:"1..1000000000" maxProperties:"200" doc:"Units of resources, charged once, however many share them."`
	Node       bool             `json:"node,omitempty" doc:"The jobs run on one node: that of the first."`
	Devices    map[string]int   `json:"devices,omitempty" is:"1..1000" maxProperties:"200" doc:"Devices of that node, by kind. A pilot's device gpu:0 is of the kind gpu."`
	MaxSharers int              `json:"max_sharers,omitempty" is:"1..1000000" minimum:"0" doc:"Jobs that hold the claim at a time; 0 = no bound."`
	Linger     *shares.Duration `json:"linger,omitempty" is:"duration" doc:"How long the claim stays where it is while nobody holds it, such as 60s, which is the default."`
	Gang       bool             `json:"gang,omitempty" doc:"The jobs start together, when all of them fit on one node."`
}

// Grouped says whether the task's jobs are those of groups and roles.
func (s *Spec) Grouped() bool { return len(s.Groups) > 0 || len(s.Roles) > 0 }

// Layout is how the task is made up, as package resource takes it.
func (s *Spec) Layout() resource.Layout {
	l := resource.Layout{Replicas: cmp.Or(s.Replicas, 1), Roles: roles(s.Roles), Sharing: entries(s.Sharing)}
	for _, g := range s.Groups {
		l.Groups = append(l.Groups, resource.Group{Name: g.Name, Replicas: cmp.Or(g.Replicas, 1), Members: roles(g.Members), Sharing: entries(g.Sharing)})
	}
	for _, t := range s.ClaimTemplates {
		linger := shares.DefaultLinger
		if t.Linger != nil {
			linger = time.Duration(*t.Linger)
		}
		l.Templates = append(l.Templates, shares.ClaimTemplate{Name: t.Name, Resources: t.Resources, Node: t.Node, Devices: t.Devices,
			MaxSharers: t.MaxSharers, Linger: linger, Gang: t.Gang})
	}
	return l
}

func roles(members []Member) (roles []resource.Role) {
	for _, m := range members {
		roles = append(roles, resource.Role{Name: m.Role, Count: cmp.Or(m.Count, 1), Sharing: entries(m.Sharing)})
	}
	return roles
}

func entries(sharing []Sharing) (entries []resource.Sharing) {
	for _, s := range sharing {
		entries = append(entries, resource.Sharing{Template: s.Template, Claim: s.Claim, Scope: resource.Scope(s.Scope), Only: s.Only})
	}
	return entries
}

// ForRole is the task as its jobs of one role see it.
func (s Spec) ForRole(m Member) Spec {
	if len(m.Command) > 0 {
		s.Command = m.Command
	}
	if m.Requirements != nil {
		s.Requirements = *m.Requirements
	}
	if m.Resources != nil {
		s.Resources = m.Resources
	}
	return s
}
