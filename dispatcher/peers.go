package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
)

// Peer is a daemon on the same database.
type Peer struct {
	ID      int64
	Address string // host:port; empty: it cannot be reached
	Secret  string // to be said there
}

// Seniors lists the open daemons that joined before this one and can be reached, the eldest first. What is asked of
// several daemons is best decided by one: the eldest. It has all pulls in one line, so shares are exact and batches are
// large; two that decide at the same time are only safe (doc.go, 8).
func (d *Dispatcher) Seniors() []Peer {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []Peer
	for id, p := range d.daemons {
		if id < d.id && p.Address != "" {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b Peer) int { return int(a.ID - b.ID) })
	return list
}

// Self is this daemon as the others find it.
func (d *Dispatcher) Self() Peer {
	d.mu.Lock()
	defer d.mu.Unlock()
	return Peer{ID: d.id, Address: d.cfg.Address, Secret: d.cfg.Secret}
}

// PeerSecret is the secret of the open daemon with this id as the database has it now; "": there is none.
func (d *Dispatcher) PeerSecret(ctx context.Context, id int64) (secret string, err error) {
	err = d.cfg.Pool.QueryRow(ctx, query["peer_secret"], pgx.StrictNamedArgs{"id": id}).Scan(&secret)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("secret of a daemon: %w", err)
	}
	return secret, nil
}

// HandOn ends the pulls that wait with ErrHandOn: their callers make them at the daemon that decides from now on.
func (d *Dispatcher) HandOn() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.line.refuse(d, ErrHandOn)
}
