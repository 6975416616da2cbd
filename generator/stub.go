package generator

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/intake"
	"github.com/divvyhq/divvy/dispatcher/job"
)

// This file goes: what the old core had and intake has in another form.

type stubStretch struct{ Task, After int64 }
type stubWalk struct {
	Along []stubStretch
	Limit int
}
type stubWalked struct {
	Idle, Leased int
	Next         int64
	More         bool
}

func stubStep(context.Context, pgx.Tx, stubWalk) ([]stubWalked, error) { panic("switch") }

type stubPriority struct {
	Task     int64
	Priority int
	After    int64
}
type stubPrioritised struct {
	Waiting, Ready, Leased int64
	Next                   int64
	More                   bool
}

func stubPrioritise(context.Context, pgx.Tx, stubPriority) (stubPrioritised, error) { panic("switch") }

type stubGang struct {
	Key           string
	Members, More int
}

func stubCancel(context.Context, pgx.Tx, int64, int) (int, bool, error) { panic("switch") }

func stubNeed([]intake.NewClaim) *job.ClaimNeed { panic("switch") }
