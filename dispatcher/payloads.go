package dispatcher

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// payloadCache keeps the payloads of tasks whose jobs are about to be leased. Payloads never change, so entries
// are only dropped to bound memory: what was not used while the other half filled up goes.
type payloadCache struct {
	pool *pgxpool.Pool
	mu   sync.Mutex
	new  map[int64]*recipe
	old  map[int64]*recipe
}

const payloadHalf = 20000

func newPayloadCache(pool *pgxpool.Pool) *payloadCache {
	return &payloadCache{pool: pool, new: map[int64]*recipe{}}
}

func (c *payloadCache) get(ctx context.Context, task int64) (*recipe, error) {
	if p, ok := c.cached(task); ok {
		return p, nil
	}
	if err := c.load(ctx, map[int64]bool{task: true}); err != nil {
		return nil, err
	}
	p, ok := c.cached(task)
	if !ok {
		return nil, fmt.Errorf("task %d has no payload", task)
	}
	return p, nil
}

func (c *payloadCache) cached(task int64) (*recipe, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.new[task]; ok {
		return p, true
	}
	p, ok := c.old[task]
	if ok {
		c.put(p)
	}
	return p, ok
}

func (c *payloadCache) put(p *recipe) {
	if len(c.new) >= payloadHalf {
		c.old, c.new = c.new, map[int64]*recipe{}
	}
	c.new[p.Task] = p
}

type payloadRow struct {
	TaskID  int64
	Command []string
	Env     map[string]string
	Matrix  []Axis
	Roles   map[string][]string

	SubmittedAt *time.Time
}

// load reads those payloads that are not cached, in one statement.
func (c *payloadCache) load(ctx context.Context, tasks map[int64]bool) error {
	var missing []int64
	for task := range tasks {
		if _, ok := c.cached(task); !ok {
			missing = append(missing, task)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	rows, err := c.pool.Query(ctx, query["payloads"], pgx.StrictNamedArgs{"tasks": missing})
	if err != nil {
		return fmt.Errorf("payloads: %w", err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByName[payloadRow])
	if err != nil {
		return fmt.Errorf("payloads: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range got {
		p := newRecipe(Payload{Task: r.TaskID, Command: r.Command, Env: r.Env, Matrix: r.Matrix, Roles: r.Roles})
		if r.SubmittedAt != nil {
			p.submitted = r.SubmittedAt.UnixMilli()
		}
		c.put(p)
	}
	return nil
}
