package generator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// withTemplates is the task with the templates of the site that it refers to among its own: its claims are made by those of
// the moment of submission. What cannot be had yet is a fault.
func (s Spec) withTemplates(site []shares.ClaimTemplate) (Spec, error) {
	var c checker
	l := s.layout()
	used := l.Missing(nil)
	for _, name := range l.Missing(site) {
		c.hint("claim_templates", fmt.Sprintf("neither the task nor the site has a template %q", name), "declare it in claim_templates")
	}
	s.ClaimTemplates = slices.Clone(s.ClaimTemplates)
	for _, t := range site {
		if _, own := l.Template(t.Name, nil); !own && slices.Contains(used, t.Name) {
			linger := shares.Duration(t.Linger)
			s.ClaimTemplates = append(s.ClaimTemplates, ClaimTemplate{Name: t.Name, Resources: t.Resources, Node: t.Node, Devices: t.Devices,
				MaxSharers: t.MaxSharers, Linger: &linger, Gang: t.Gang})
		}
	}
	for i, t := range s.ClaimTemplates {
		for _, f := range []struct {
			name  string
			given bool
		}{{"gang", t.Gang}} {
			if f.given {
				c.hint(fmt.Sprintf("claim_templates[%d].%s", i, f.name), fmt.Sprintf("cannot be had yet (template %s)", t.Name), "resources, node, devices and max_sharers can")
			}
		}
	}
	return s, c.faults.err()
}

// jobName is what a job of groups and roles is called: its input.
func jobName(k resource.JobKey) []string { return []string{k.Name()} }

// member is the role of a job.
func (s *Spec) member(k resource.JobKey) (m Member, ok bool) {
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

// joinGroups gives the jobs of tasks of groups and roles their names, shapes and claims. A job that tries another again has
// its index, so it holds the same claims.
func joinGroups(ctx context.Context, tx pgx.Tx, plan []part, jobs []dispatcher.NewJob) error {
	of := map[int64][]*dispatcher.NewJob{}
	for i := range jobs {
		of[jobs[i].Task] = append(of[jobs[i].Task], &jobs[i])
	}
	for _, p := range plan {
		if p.Split != "groups" || len(of[p.ID]) == 0 {
			continue
		}
		var body []byte
		if err := tx.QueryRow(ctx, query["read_spec"], pgx.StrictNamedArgs{"task": p.ID}).Scan(&body); err != nil {
			return err
		}
		var s Spec
		if err := json.Unmarshal(body, &s); err != nil {
			return fmt.Errorf("task %d: %w", p.ID, err)
		}
		if err := (&joiner{tx: tx, spec: s, layout: s.layout(), task: p.ID}).join(ctx, of[p.ID]); err != nil {
			return fmt.Errorf("task %d: %w", p.ID, err)
		}
	}
	return nil
}

// joiner makes the claims of some jobs of one task.
type joiner struct {
	tx     pgx.Tx
	task   int64
	spec   Spec
	layout resource.Layout
}

func (j *joiner) join(ctx context.Context, jobs []*dispatcher.NewJob) error {
	x := resource.Expand(j.layout)
	ids, err := j.claims(ctx, x, jobs)
	if err != nil {
		return err
	}
	shapes := map[string]int32{}
	for _, job := range jobs {
		at := x.Jobs[job.Index]
		job.Inputs = jobName(at.JobKey)
		var templates []shares.ClaimTemplate
		kind := at.Group + "/" + at.Role
		for _, c := range at.Claims {
			t, _ := j.layout.Template(x.Claims[c].Template, nil)
			job.Claims, templates = append(job.Claims, ids[c]), append(templates, t)
			kind += " " + t.Name
		}
		shape, known := shapes[kind]
		if !known {
			if shape, err = j.shape(ctx, at.JobKey, templates); err != nil {
				return err
			}
			shapes[kind] = shape
		}
		job.Shape = shape
	}
	return nil
}

// claims makes those that the jobs hold, by index of the expansion.
func (j *joiner) claims(ctx context.Context, x resource.Expansion, jobs []*dispatcher.NewJob) (ids map[int32]int64, err error) {
	var held []int32
	for _, job := range jobs {
		if job.Index < 0 || job.Index >= int64(len(x.Jobs)) {
			return nil, fmt.Errorf("it has no job %d", job.Index)
		}
		held = append(held, x.Jobs[job.Index].Claims...)
	}
	slices.Sort(held)
	held = slices.Compact(held)
	made := make([]dispatcher.NewClaim, len(held))
	for i, c := range held {
		t, ok := j.layout.Template(x.Claims[c].Template, nil)
		if !ok {
			return nil, fmt.Errorf("it has no template %s", x.Claims[c].Template)
		}
		made[i] = dispatcher.NewClaim{Key: x.Claims[c].Name(), Template: t, SharingID: j.spec.payer(), Label: j.spec.Label}
	}
	list, err := dispatcher.MakeClaims(ctx, j.tx, j.task, made)
	if err != nil {
		return nil, err
	}
	ids = make(map[int32]int64, len(held))
	for i, c := range held {
		ids[c] = list[i]
	}
	return ids, nil
}

// shape is that of jobs of a role none of whose claims is bound.
func (j *joiner) shape(ctx context.Context, at resource.JobKey, templates []shares.ClaimTemplate) (int32, error) {
	m, ok := j.spec.member(at)
	if !ok {
		return 0, fmt.Errorf("it has no role %s", at.Name())
	}
	own := j.spec.as(m).withDefaults()
	need := own.shape()
	if len(templates) > 0 {
		need.Claims, need.SharingID = dispatcher.ClaimNeedOf(templates), j.spec.payer()
	}
	return dispatcher.Intern(ctx, j.tx, need)
}
