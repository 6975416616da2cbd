package mcp

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/cmd/divvy/work"
	"github.com/divvyhq/divvy/generator/spec"
)

// most is how many items of a list an answer has.
const most = 100

type (
	none  struct{}
	aTask struct {
		Task int64 `json:"task" doc:"id of the task"`
	}
	aJob struct {
		Job     int64 `json:"job" doc:"id of the job"`
		Attempt int   `json:"attempt,omitempty" doc:"which attempt; the last one when absent"`
	}
	aQueue struct {
		Queue string `json:"queue,omitempty" doc:"name of a queue; all when absent"`
	}
	aShare struct {
		Share string `json:"share,omitempty" doc:"path of a share: only it and those below it; when absent, all of a small tree, the upper levels of a large one"`
	}
	twoShares struct {
		A     string `json:"a" doc:"path of a share, such as Production/MC"`
		B     string `json:"b" doc:"path of another share"`
		Hours int    `json:"hours,omitempty" doc:"how far to look back; an hour when absent"`
	}
	someTasks struct {
		User  string   `json:"user,omitempty" doc:"only tasks of this user"`
		Share string   `json:"share,omitempty" doc:"only tasks of this share or one below it"`
		State []string `json:"state,omitempty" doc:"only tasks in one of these states: submitting, waiting, throttled, ready, scouting, exhausted, running, paused, done, finished, failed, aborted"`
		After string   `json:"after,omitempty" doc:"next of the answer before"`
	}
	someJobs struct {
		Task  int64  `json:"task,omitempty" doc:"only jobs of this task; else give a user, share or queue"`
		User  string `json:"user,omitempty" doc:"only jobs of this user"`
		Share string `json:"share,omitempty" doc:"only jobs of this share or one below it"`
		Queue string `json:"queue,omitempty" doc:"only jobs at this queue"`
		State string `json:"state,omitempty" doc:"waiting, ready, leased, finished, failed or cancelled"`
		After string `json:"after,omitempty" doc:"next of the answer before"`
	}
	aReport struct {
		Name string `json:"name" doc:"name of a report, of the tool reports"`
		By   string `json:"by,omitempty" doc:"what its rows are: share, user, queue or task, where the report has a choice"`
		Days int    `json:"days,omitempty" doc:"how far back; what the report does by default when absent"`
	}
	aSiteFile struct {
		File string `json:"file" doc:"a whole site file (YAML); the tool site has the one in force"`
	}
	aTaskFile struct {
		File string `json:"file" doc:"a task file (YAML): name, user, command, count or inputs, requirements, labels"`
	}
)

func addTools(s *mcp.Server, cl *client.Client) {
	addWork(s, cl)
	addSite(s, cl)
	addRehearsals(s, cl)
}

func addWork(s *mcp.Server, cl *client.Client) {
	tool(s, cl, "why_task", "Why does nothing more of a task run, and when will it start?", func(ctx context.Context, in aTask) (string, any, error) {
		e, err := cl.Tasks().Explain(ctx, in.Task)
		return taskPage(in.Task), e, err
	})
	tool(s, cl, "why_job", "Why does a job wait, or why was it given its slot? Path of shares, queues with the first gate it does not pass, position, ETA.",
		func(ctx context.Context, in aJob) (string, any, error) {
			e, err := cl.Jobs().Explain(ctx, in.Job)
			return jobPage(in.Job), e, err
		})
	tool(s, cl, "task", "How does a task stand? State, jobs by state, requirements, share and the rule that chose it.", func(ctx context.Context, in aTask) (string, any, error) {
		t, err := cl.Tasks().Get(ctx, in.Task)
		return taskPage(in.Task), t, err
	})
	tool(s, cl, "task_queues", "Where may jobs of a task run, and what excludes which queue?", func(ctx context.Context, in aTask) (string, any, error) {
		q, err := cl.Tasks().Queues(ctx, in.Task)
		return taskPage(in.Task), q, err
	})
	tool(s, cl, "tasks", "Which tasks are there? Those that are not over first, the newest on top.", func(ctx context.Context, in someTasks) (string, any, error) {
		p, err := cl.Tasks().List(ctx, client.TaskFilter{User: in.User, Share: in.Share, State: in.State, Newest: true, Limit: most, After: in.After})
		return "/tasks", p, err
	})
	tool(s, cl, "job", "How does a job stand? State and attempts with outcome, exit code and message.", func(ctx context.Context, in aJob) (string, any, error) {
		j, err := cl.Jobs().Get(ctx, in.Job)
		return jobPage(in.Job), j, err
	})
	tool(s, cl, "job_log", "What did an attempt of a job write last?", func(ctx context.Context, in aJob) (string, any, error) {
		l, err := cl.Jobs().Log(ctx, in.Job, in.Attempt)
		return jobPage(in.Job), l, err
	})
	tool(s, cl, "jobs", "Which jobs are there, of a task, user, share or queue?", func(ctx context.Context, in someJobs) (string, any, error) {
		p, err := cl.Jobs().List(ctx, client.JobFilter{Task: in.Task, User: in.User, Share: in.Share, Queue: in.Queue, State: in.State, Limit: most, After: in.After})
		return "/tasks", p, err
	})
}

func addSite(s *mcp.Server, cl *client.Client) {
	tool(s, cl, "shares", "Who uses what? The tree of shares in each pool, with target, held, deserved, demand, ready jobs and ETA of each.",
		func(ctx context.Context, in aShare) (string, any, error) {
			st, err := cl.Shares().Standing(ctx)
			return "/" + show.Pick(in.Share == "", "?open=all", "shares/"+in.Share), below(st, in.Share), err
		})
	tool(s, cl, "why_share", "Why was one share served before another? Past decisions counted, and where both stand now.", func(ctx context.Context, in twoShares) (string, any, error) {
		w, err := cl.Shares().Why(ctx, in.A, in.B, client.WhyOptions{Since: time.Duration(in.Hours) * time.Hour})
		return "/shares/" + in.A, w, err
	})
	tool(s, cl, "queues", "How do queues stand? Slots, pilots, failures, black holes.", func(ctx context.Context, in aQueue) (string, any, error) {
		if in.Queue == "" {
			all, err := cl.Queues().List(ctx)
			return "/queues", all, err
		}
		q, err := cl.Queues().Get(ctx, in.Queue)
		return "/queues/" + url.PathEscape(in.Queue), q, err
	})
	tool(s, cl, "stock", "Which shares have ready jobs for which queues, and what is missing?", func(ctx context.Context, in aQueue) (string, any, error) {
		st, err := cl.Shares().Stock(ctx, "", in.Queue)
		return "/queues", st, err
	})
	tool(s, cl, "resources", "Who holds and who waits for licences and other resources?", func(ctx context.Context, _ none) (string, any, error) {
		r, err := cl.Resources().List(ctx)
		return "/resources", r, err
	})
	tool(s, cl, "reports", "Which reports are there?", func(ctx context.Context, _ none) (string, any, error) {
		r, err := cl.Reports().List(ctx)
		return "/", r, err
	})
	tool(s, cl, "report", "Usage, waits, fairness, errors, loans: a report as a table.", func(ctx context.Context, in aReport) (string, any, error) {
		since := ""
		if in.Days > 0 {
			since = fmt.Sprintf("%dd", in.Days)
		}
		t, err := cl.Reports().Get(ctx, in.Name, in.By, since)
		return "/", t, err
	})
	tool(s, cl, "site", "The site file in force, and its version.", func(ctx context.Context, _ none) (string, any, error) {
		v, err := cl.Site().Current(ctx)
		return "/versions", v, err
	})
}

func addRehearsals(s *mcp.Server, cl *client.Client) {
	tool(s, cl, "rehearse_site", "What would a site file change? Targets of each share before and after with the demand of now, and the way there. Nothing is applied.",
		func(ctx context.Context, in aSiteFile) (string, any, error) {
			a, err := cl.Site().WhatIf(ctx, []byte(in.File), time.Time{}, client.ApplyOptions{File: "site.yml"})
			return "/what-if", a, err
		})
	tool(s, cl, "rehearse_task", "What would become of a task? Which share it would get by which rule, whether a queue can run it, and how that share stands. Nothing is submitted.",
		func(ctx context.Context, in aTaskFile) (string, any, error) {
			r, err := rehearse(ctx, cl, in.File)
			return "/tasks", r, err
		})
}

// rehearsed is what would become of a task.
type rehearsed struct {
	Name  string              `json:"name"`
	Tags  wire.TagTest        `json:"tags"`
	Pools []wire.PoolStanding `json:"pools,omitempty"` // how its share stands now
	Stock []wire.ShareStock   `json:"stock,omitempty"` // ready jobs of its share, and the queues they are for
}

func rehearse(ctx context.Context, cl *client.Client, file string) ([]rehearsed, error) {
	specs, err := spec.ParseSpecs("task.yml", []byte(file))
	if err != nil {
		return nil, err
	}
	if len(specs) > most {
		return nil, fmt.Errorf("%d tasks in the file; rehearse at most %d at a time", len(specs), most)
	}
	standing, err := cl.Shares().Standing(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]rehearsed, len(specs))
	for i, s := range specs {
		r := &all[i]
		r.Name = s.Name
		if r.Tags, err = cl.Site().TestTags(ctx, work.ServerSpec(s)); err != nil {
			return nil, fmt.Errorf("task %s: %w", s.Name, err)
		}
		if r.Tags.Share == "" {
			continue
		}
		r.Pools = below(standing, r.Tags.Share).Pools
		if r.Stock, err = cl.Shares().Stock(ctx, r.Tags.Share, ""); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// below is a share and those below it. Of the whole tree an answer has the upper levels only, if there are more shares than it may list.
func below(st wire.Standing, path string) wire.Standing {
	st.Pools = slices.Clone(st.Pools)
	for i, p := range st.Pools {
		hidden := func(s wire.ShareStanding) bool { return s.Path != path && !strings.HasPrefix(s.Path, path+"/") }
		if path == "" {
			deepest := depth(p.Shares)
			hidden = func(s wire.ShareStanding) bool { return s.Depth > deepest }
		}
		st.Pools[i].Shares = slices.DeleteFunc(slices.Clone(p.Shares), hidden)
	}
	return st
}

// depth is the lowest level down to which there are few enough shares to list; the top is always shown.
func depth(all []wire.ShareStanding) int {
	at := map[int]int{}
	deepest := 0
	for _, s := range all {
		at[s.Depth]++
		deepest = max(deepest, s.Depth)
	}
	listed := at[1]
	for d := 2; d <= deepest; d++ {
		if listed += at[d]; listed > most {
			return d - 1
		}
	}
	return deepest
}

func taskPage(id int64) string { return fmt.Sprintf("/tasks/%d", id) }
func jobPage(id int64) string  { return fmt.Sprintf("/jobs/%d", id) }
