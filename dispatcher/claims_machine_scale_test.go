package dispatcher

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"
)

// What people do to claims and to the tasks of jobs with claims, beside what pilots do.
func init() {
	claimSteps["scale down"] = scaleDown
	claimSteps["create"] = func(m *claimMachine) {
		c := OutsideClaim{Name: "disk", Queue: "q", Node: rapid.SampledFrom([]string{"n1", "n2"}).Draw(m.r, "at"), Devices: gpus(rapid.IntRange(0, 1).Draw(m.r, "gpus"))}
		_, err := m.any().CreateClaim(context.Background(), c)
		if err != nil && !errors.Is(err, ErrClaimExists) && !errors.Is(err, ErrDeviceTaken) {
			m.t.Fatal(err)
		}
	}
	claimSteps["delete"] = func(m *claimMachine) {
		_, err := m.any().DeleteClaim(context.Background(), "disk", rapid.Bool().Draw(m.r, "force"))
		if err != nil && !errors.Is(err, ErrNoClaim) && !errors.Is(err, ErrClaimHeld) {
			m.t.Fatal(err)
		}
	}
}

// scaleDown takes the second replica of a group of the first task that has jobs away, as package generator does it.
func scaleDown(m *claimMachine) {
	var task int64
	m.scan(&task, "SELECT coalesce(min(task_id), 0) FROM jobs WHERE claims IS NOT NULL AND scaled_away IS NULL")
	var names, keys []string
	m.scan(&names, "SELECT coalesce(array_agg(inputs[1]), '{}') FROM jobs WHERE task_id = $1 AND inputs[1] LIKE '%/g/1/%'", task)
	m.scan(&keys, "SELECT coalesce(array_agg(key), '{}') FROM resource_claims WHERE task_id = $1 AND key LIKE '%/g/1/%'", task)
	err := pgx.BeginFunc(context.Background(), m.pool, func(tx pgx.Tx) error {
		if _, err := ScaleAway(context.Background(), tx, Scaled{Task: task, Names: names, Claims: keys}); err != nil {
			return err
		}
		_, _, err := CancelScaledAway(context.Background(), tx, task, rapid.IntRange(1, 100).Draw(m.r, "batch"))
		return err
	})
	if err != nil {
		m.t.Fatal(err)
	}
}

// finishScaling cancels what scaleDown has left, and makes the claim that jobs may wait for.
func (m *claimMachine) finishScaling() {
	ctx := context.Background()
	var tasks []int64
	m.scan(&tasks, "SELECT coalesce(array_agg(DISTINCT task_id), '{}') FROM jobs WHERE scaled_away")
	for _, task := range tasks {
		err := pgx.BeginFunc(ctx, m.pool, func(tx pgx.Tx) error {
			_, _, err := CancelScaledAway(ctx, tx, task, 1000)
			return err
		})
		if err != nil {
			m.t.Fatal(err)
		}
	}
	_, err := m.any().CreateClaim(ctx, OutsideClaim{Name: "disk", Queue: "q", Node: "n1"})
	if err != nil && !errors.Is(err, ErrClaimExists) {
		m.t.Fatal(err)
	}
}
