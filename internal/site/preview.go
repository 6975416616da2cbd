package site

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// Preview reads a file that is not to be applied: a site whose shares and queues have the ids that they would keep, new
// ones negative ids that are in no use. It changes nothing. The error is Problems when the file is wrong.
func (s *Store) Preview(ctx context.Context, name string, src []byte) (*Site, error) {
	next, err := Parse(fileName(name), src)
	if err != nil {
		return nil, err
	}
	opts := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = pgx.BeginTxFunc(ctx, s.db, opts, func(tx pgx.Tx) error {
		before, err := s.load(ctx, tx, inForce)
		if err != nil && !errors.Is(err, ErrUnreadable) {
			return err
		}
		next.Number = before.Number + 1
		c := &transition{store: s, before: before, next: next, dryRun: true}
		return c.match(ctx, tx, wanted{next: next})
	})
	if err != nil {
		return nil, err
	}
	return next, nil
}
