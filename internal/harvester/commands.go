package harvester

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/internal/pg"
)

// Command is something that a Harvester is to do.
type Command struct {
	ID           int64
	Command      string
	Params       json.RawMessage
	AckRequested bool
	CreatedAt    time.Time
}

// Acquire hands out a Harvester's next commands, oldest first, each once.
func (s *Store) Acquire(ctx context.Context, harvester string, n int) ([]Command, error) {
	return pg.Collect[Command](ctx, s.db, query["acquire"], pgx.StrictNamedArgs{"harvester": harvester, "n": n})
}

// Acknowledge notes that commands were done; it says how many of the ids there are.
func (s *Store) Acknowledge(ctx context.Context, ids []int64) (n int, err error) {
	tag, err := s.db.Exec(ctx, query["acknowledge"], pgx.StrictNamedArgs{"ids": ids})
	return int(tag.RowsAffected()), pg.Named("acknowledge", err)
}

// Sweep tells every Harvester that has workers at a queue to end some of them. It says how many were told.
func (s *Store) Sweep(ctx context.Context, w Sweep) (n int, err error) {
	params, err := json.Marshal(w)
	if err != nil {
		return 0, fmt.Errorf("sweep: %w", err)
	}
	tag, err := s.db.Exec(ctx, query["sweep"], pgx.StrictNamedArgs{"queue": w.Queues[0], "params": params})
	return int(tag.RowsAffected()), pg.Named("sweep", err)
}

// Sweep selects workers, in the words of Harvester's command.
type Sweep struct {
	Queues   []string  `json:"computingSite"` // one
	Statuses Selection `json:"status"`
	Elements Selection `json:"computingElement"`
	Hosts    Selection `json:"submissionHost"`
}

// Selection names what is selected; nothing where it is empty. The one name ALL selects everything: a Harvester reads that
// as a word, not as a list.
type Selection []string

// All is that name.
const All = "ALL"

// MarshalJSON writes it as Harvesters read it.
func (s Selection) MarshalJSON() ([]byte, error) {
	if len(s) == 1 && s[0] == All {
		return json.Marshal(All)
	}
	return json.Marshal(append([]string{}, s...))
}
