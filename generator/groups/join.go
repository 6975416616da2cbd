package groups

import (
	"context"
	"embed"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/stored"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/shares"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Join gives jobs of a task of groups and roles their names, shapes and claims. A job that tries another again, from behind the job
// after on, has its index, so it holds the same claims.
func Join(ctx context.Context, tx pgx.Tx, task int64, jobs []*intake.NewJob, after int64) error {
	j, err := readJoiner(ctx, tx, task)
	if err == nil {
		err = j.join(ctx, jobs, after)
	}
	if err != nil {
		return fmt.Errorf("task %d: %w", task, err)
	}
	return nil
}

// joiner makes the claims of some jobs of one task.
type joiner struct {
	tx     pgx.Tx
	task   int64
	spec   spec.Spec
	layout resource.Layout
}

func readJoiner(ctx context.Context, tx pgx.Tx, task int64) (*joiner, error) {
	s, scaled, err := stored.Spec(ctx, tx, task)
	if err != nil {
		return nil, err
	}
	layout, err := spec.ScaledLayout(&s, scaled)
	return &joiner{tx: tx, task: task, spec: s, layout: layout}, err
}

// join is for the jobs of a batch; those of them that try others again do so from behind the job after on.
func (j *joiner) join(ctx context.Context, jobs []*intake.NewJob, after int64) error {
	x := resource.Expand(j.layout)
	at, err := places(x, jobs)
	if err != nil {
		return err
	}
	sharers := x.Sharers()
	members, err := j.members(ctx, x, crowd{jobs, at, sharers, after})
	if err != nil {
		return err
	}
	ids, err := j.claims(ctx, x, members)
	if err != nil {
		return err
	}
	shapes := map[resource.JobKey]int32{} // by role
	for i, job := range jobs {
		of := x.Jobs[at[i]]
		job.Inputs = []string{of.Name()} // what a job of groups and roles is called
		for _, c := range of.Claims {
			job.Claims = append(job.Claims, ids[c])
		}
		role := resource.JobKey{Group: of.Group, Role: of.Role}
		shape, known := shapes[role]
		if !known {
			if shape, err = j.shape(ctx, of.JobKey); err != nil {
				return err
			}
			shapes[role] = shape
		}
		job.Shape = shape
	}
	return nil
}

// places says which jobs of the expansion these are: by their names where they have them, for the place of a job moves when
// the task is scaled; else by their index, which is the place until then.
func places(x resource.Expansion, jobs []*intake.NewJob) ([]int, error) {
	at := make([]int, len(jobs))
	var byKey map[resource.JobKey]int
	for i, job := range jobs {
		if len(job.Inputs) == 0 {
			if job.Index < 0 || job.Index >= int64(len(x.Jobs)) {
				return nil, fmt.Errorf("it has no job %d", job.Index)
			}
			at[i] = int(job.Index)
			continue
		}
		if byKey == nil {
			byKey = make(map[resource.JobKey]int, len(x.Jobs))
			for k, j := range x.Jobs {
				byKey[j.JobKey] = k
			}
		}
		key, err := resource.ParseJobKey(job.Inputs[0])
		if err != nil {
			return nil, err
		}
		place, ok := byKey[key]
		if !ok {
			return nil, fmt.Errorf("it has no job %s", job.Inputs[0])
		}
		at[i] = place
	}
	return at, nil
}

// claim is one of the task's, or one that people make, as the dispatcher is to have it.
func (j *joiner) claim(key resource.ClaimKey) intake.NewClaim {
	if key.External {
		return intake.NewClaim{Key: key.Template, Template: shares.ClaimTemplate{Name: key.Template}, Outside: true}
	}
	t, ok := j.layout.Template(key.Template, nil)
	if !ok {
		t.Name = key.Template
	}
	return intake.NewClaim{Key: key.Name(), Template: t, SharingID: j.spec.Payer(), Label: j.spec.Label, Missing: !ok}
}

// claims makes those that the jobs of a batch hold, by index of the expansion.
func (j *joiner) claims(ctx context.Context, x resource.Expansion, of map[int32]membership) (ids map[int32]int64, err error) {
	held := slices.Sorted(maps.Keys(of))
	made := make([]intake.NewClaim, len(held))
	for i, c := range held {
		made[i] = j.claim(x.Claims[c])
		made[i].Members, made[i].Made = of[c].members, of[c].made
	}
	list, err := intake.MakeClaims(ctx, j.tx, j.task, made)
	if err != nil {
		return nil, err
	}
	ids = make(map[int32]int64, len(held))
	for i, c := range held {
		ids[c] = list[i]
	}
	return ids, nil
}

// shape is that of jobs of a role. What their claims ask of a slot is for the machine.
func (j *joiner) shape(ctx context.Context, at resource.JobKey) (int32, error) {
	m, ok := j.spec.Member(at)
	if !ok {
		return 0, fmt.Errorf("it has no role %s", at.Name())
	}
	own := j.spec.ForRole(m).WithDefaults()
	return intake.Intern(ctx, j.tx, own.Shape())
}
