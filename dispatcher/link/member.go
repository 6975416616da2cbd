package link

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// Times of members: how often they say that they live, and after what silence they are taken for dead. Nothing that is decided depends on it.
const (
	BeatEvery = 2 * time.Second
	Silent    = 15 * time.Second
)

// Joining is what a daemon says of itself.
type Joining struct {
	DB      *pgxpool.Pool
	Address string // host:port at which other daemons reach it; empty: nowhere
	Secret  string // to be said there
	Version string
	Log     *slog.Logger
}

// Member is this daemon among those of its database.
type Member struct {
	Joining
	id     int64
	began  time.Time
	host   string
	others atomic.Int64 // that were open when it looked last
}

// Join makes a row of this start, with a number that no daemon had before.
func Join(ctx context.Context, j Joining) (*Member, error) {
	if j.Log == nil {
		j.Log = slog.New(slog.DiscardHandler)
	}
	m := &Member{Joining: j, began: time.Now()}
	m.host, _ = os.Hostname()
	args := pg.Args{"host": m.host, "pid": os.Getpid(), "address": j.Address, "secret": j.Secret, "version": j.Version}
	if err := j.DB.QueryRow(ctx, query["join"], args).Scan(&m.id); err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	_, err := m.Peers(ctx)
	return m, err
}

// Self is this daemon.
func (m *Member) Self() Peer { return Peer{ID: m.id, Address: m.Address, Secret: m.Secret} }

// Daemons is how many are open, this one among them, by the last look.
func (m *Member) Daemons() int { return int(m.others.Load()) + 1 }

// Peers are the daemons that are open, this one among them.
func (m *Member) Peers(ctx context.Context) ([]Peer, error) {
	peers, err := pg.Collect[Peer](ctx, m.DB, query["peers"], pg.Args{"silent_s": Silent.Seconds()})
	if err != nil {
		return nil, fmt.Errorf("daemons: %w", err)
	}
	n := int64(0)
	for _, p := range peers {
		if p.ID != m.id {
			n++
		}
	}
	m.others.Store(n)
	return peers, nil
}

// SecretOf is what an open daemon has to say; empty: there is no such daemon.
func (m *Member) SecretOf(ctx context.Context, id int64) (secret string, err error) {
	err = m.DB.QueryRow(ctx, query["secret"], pg.Args{"id": id}).Scan(&secret)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return secret, pg.Named("secret of a daemon", err)
}

// Heartbeat says that this daemon lives, and closes those that did not for Silent. It returns how many these were.
func (m *Member) Heartbeat(ctx context.Context) (n int, err error) {
	args := pg.Args{"id": m.id, "host": m.host, "pid": os.Getpid(), "started_at": m.began, "address": m.Address, "secret": m.Secret,
		"version": m.Version, "silent_s": Silent.Seconds()}
	dead, err := pg.CollectTo(ctx, pgx.RowTo[int64], m.DB, query["beat"], args)
	if err != nil {
		return 0, fmt.Errorf("heartbeat: %w", err)
	}
	for _, id := range dead {
		m.Log.Warn("a daemon was silent for long and is taken for dead", "daemon", id, "silent", Silent)
	}
	return len(dead), nil
}

// Leave says that this daemon is no more.
func (m *Member) Leave(ctx context.Context) error {
	_, err := m.DB.Exec(ctx, query["leave"], pg.Args{"id": m.id})
	return pg.Named("leave", err)
}
