package work

import (
	"bytes"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/internal/golden"
)

// Tables that show ages, at a fixed now.
func TestTablesWithAges(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	at := func(d time.Duration) *time.Time { v := ago(d); return &v }
	exit := func(n int) *int { return &n }
	task := wire.Task{ID: 7, Name: "mc-evgen", User: "alice", Share: "Production/MC", State: "running", Priority: 900, MaxAttempts: 3, Pieces: 1000,
		Jobs:       wire.JobCounts{Total: 1000, Ready: 500, Leased: 100, Finished: 398, Failed: 2},
		Attributes: map[string]string{"label": "managed", "user": "alice"}, SiteVersion: 3,
		CreatedAt: ago(26 * time.Hour), StartedAt: at(90 * time.Minute),
		Spec: &wire.TaskSpec{Command: []string{"sh", "-c", "echo {{.Index}}"}, Queues: []string{"gpu-*"}, Resources: map[string]int64{"maya": 1, "table:orders": 2}, SharingID: "film",
			Requirements: wire.TaskRequirements{Cores: 8, MemoryMB: 16000, Walltime: "2h0m0s", Labels: map[string]string{"os": "el9"}}}}
	foreign := task
	foreign.Parameters = []byte(`{"panda":{"taskName":"mc-evgen"},"ignored":[{"parameter":"nGBPerJob","reason":"jobs are not split by size"},{"parameter":"reqID","reason":"not used here"}]}`)
	waiting := wire.Task{ID: 8, Name: "held", User: "bob", State: "waiting", Reason: "no rule matches", MaxAttempts: 3, CreatedAt: ago(5 * time.Second)}
	job := wire.JobRow{ID: 12, Task: 7, Share: "Production/MC", State: "failed", Priority: 900, Attempt: 2, MaxAttempts: 2, Index: 11,
		Inputs: []string{"a.root", "b.root"}, CreatedAt: ago(70 * time.Second), EndedAt: at(3 * time.Second), Queue: "CERN", Pilot: "vm-1", Attempts: []wire.Attempt{
			{Attempt: 1, Queue: "CERN", Pilot: "vm-1", Node: "vm", State: "lost", ClaimedAt: ago(70 * time.Second), EndedAt: at(20 * time.Second)},
			{Attempt: 2, Queue: "CERN", Pilot: "vm-1", Node: "vm", State: "failed", ClaimedAt: ago(15 * time.Second), EndedAt: at(3 * time.Second), ExitCode: exit(137),
				Message: "killed: memory 2100 MB over 2000 MB", Usage: wire.Usage{CPUSeconds: 11.25, MemoryMB: 2100},
				Outputs: map[string]any{"hits.root": map[string]any{"fsize": 2048.0, "adler32": "0000abcd"}, "log": "kept"},
				Report:  map[string]any{"pilotErrorCode": 1212.0, "pilotErrorDiag": "Payload exceeded\nmaximum allowed memory", "batch": map[string]any{"id": "7"}, "stdout": ""}}}}
	stuck := wire.JobRow{ID: 13, Task: 7, Share: "Test", State: "ready", Attempt: 1, MaxAttempts: 3, CreatedAt: ago(3 * 24 * time.Hour), Reason: "no queue can run it: CERN: 16 cores, at most 8"}
	status := wire.Status{Build: "v0.1.0", StartedAt: ago(75 * time.Minute), Ready: true, Site: 3, ReadyJobs: 12, HeldJobs: 8, Waiting: 1,
		Pools: []wire.PoolStatus{{Pool: "default", Capacity: 1000, Held: 8.5}, {Pool: "gpu", Capacity: -1}}}
	status.Queues.Online, status.Queues.Drain = 3, 1
	down := wire.Status{Reason: "database: connection refused", StartedAt: ago(time.Second)}

	claim := wire.ClaimStanding{ID: 7, Task: 3, Key: "0/sgx/1/gpus(pre,train)", State: "bound", LingerS: 60, Queue: "GPU", Node: "n1",
		Devices: []string{"gpu:0", "gpu:1"}, BoundAt: at(5 * time.Minute), Sharers: 2, CreatedAt: ago(time.Hour),
		Template: wire.ClaimTakes{Name: "gpus", Resources: map[string]int64{"nvlink": 1}, Devices: map[string]int{"gpu": 2}, MaxSharers: 4, Gang: true},
		Holders: []wire.ClaimHolder{{Job: 21, Task: 3, Name: "0/sgx/1/pre/0", Attempt: 1, State: "running", Pilot: "vm-1", Since: ago(5 * time.Minute)},
			{Job: 22, Task: 3, Name: "0/sgx/1/train/0", Attempt: 2, State: "granted", Pilot: "vm-2", Since: ago(2 * time.Second)}},
		Waiters: []wire.ClaimWaiter{{Job: 23, Task: 3, Name: "0/sgx/1/train/1", State: "ready", Since: ago(time.Hour)}}, Waiting: 120}
	idle := wire.ClaimStanding{ID: 8, Task: 3, Key: "0/node", State: "bound", LingerS: 90, Queue: "GPU", Node: "n2", BoundAt: at(time.Minute), IdleSince: at(10 * time.Second),
		CreatedAt: ago(time.Hour), Template: wire.ClaimTakes{Name: "node", Node: true}}
	missing := wire.ClaimStanding{ID: 9, Task: 4, Key: "0/fast", State: "pending", LingerS: 60, CreatedAt: ago(time.Minute), Template: wire.ClaimTakes{Name: "fast", Missing: true},
		Waiters: []wire.ClaimWaiter{{Job: 30, Task: 4, State: "ready", Since: ago(time.Minute)}}, Waiting: 1}
	over := wire.ClaimStanding{ID: 2, Key: "claim:shelf", State: "released", LingerS: 60, CreatedAt: ago(time.Hour), EndedAt: at(time.Minute), Template: wire.ClaimTakes{Name: "shelf"}}
	claims := wire.Page[wire.ClaimStanding]{Items: []wire.ClaimStanding{claim, idle, missing, over}, Next: "9"}

	var b bytes.Buffer
	for name, write := range map[string]func(){
		"task-list": func() {
			writeTasks(cli.Paper{Writer: &b, Wide: false, Now: now}, wire.Page[wire.Task]{Items: []wire.Task{task, waiting}, Next: "8"})
		},
		"task-list-wide": func() {
			writeTasks(cli.Paper{Writer: &b, Wide: true, Now: now}, wire.Page[wire.Task]{Items: []wire.Task{task, waiting}})
		},
		"task-show":       func() { writeTask(cli.Paper{Writer: &b, Now: now}, task) },
		"task-show-panda": func() { writeTask(cli.Paper{Writer: &b, Now: now}, foreign) },
		"job-list": func() {
			writeJobs(cli.Paper{Writer: &b, Wide: false, Now: now}, wire.Page[wire.JobRow]{Items: []wire.JobRow{job, stuck}})
		},
		"job-list-wide": func() {
			writeJobs(cli.Paper{Writer: &b, Wide: true, Now: now}, wire.Page[wire.JobRow]{Items: []wire.JobRow{job, stuck}})
		},
		"job-show":        func() { writeJob(cli.Paper{Writer: &b, Now: now}, job) },
		"claim-list":      func() { writeClaims(cli.Paper{Writer: &b, Wide: false, Now: now}, claims) },
		"claim-list-wide": func() { writeClaims(cli.Paper{Writer: &b, Wide: true, Now: now}, claims) },
		"claim-show":      func() { writeClaim(cli.Paper{Writer: &b, Now: now}, claim) },
		"claim-show-idle": func() { writeClaim(cli.Paper{Writer: &b, Now: now}, idle) },
		"claim-missing":   func() { writeClaim(cli.Paper{Writer: &b, Now: now}, missing) },
		"claim-over":      func() { writeClaim(cli.Paper{Writer: &b, Now: now}, over) },
		"status":          func() { writeStatus(&b, "http://127.0.0.1:8470", status, now) },
		"status-down":     func() { writeStatus(&b, "http://127.0.0.1:8470", down, now) },
	} {
		t.Run(name, func(t *testing.T) {
			b.Reset()
			write()
			golden.Equal(t, "../testdata/golden/"+name+".txt", b.String())
		})
	}
}
