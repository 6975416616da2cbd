package access

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
)

//go:embed sql/*.sql
var files embed.FS

var query = pg.MustLoad(files)

// Store keeps the tokens. It is safe for concurrent use, on any number of daemons.
type Store struct{ db *pgxpool.Pool }

// NewStore makes a store on a migrated database.
func NewStore(db *pgxpool.Pool) *Store { return &Store{db: db} }

// Made is a new token with its text, which nobody can see again.
type Made struct {
	Token
	Text string `json:"token" doc:"The token itself: it is shown this once."`
}

// Create makes a token. ErrInvalid says what is wrong with n, ErrName that its name is taken.
func (s *Store) Create(ctx context.Context, n New) (Made, error) {
	if err := n.Validate(); err != nil {
		return Made{}, err
	}
	text, prefix := newText()
	hash := HashOf(text)
	var made Token
	err := pg.InTx(ctx, s.db, func(tx pgx.Tx) (err error) {
		if err := strangers(ctx, tx, n.Subject); err != nil {
			return err
		}
		made, err = one(ctx, tx, "create", pgx.StrictNamedArgs{"name": n.Name, "prefix": prefix, "hash": hash[:], "role": string(n.Role), "user_name": n.User,
			"queues": append([]string{}, n.Queues...), "share": n.Share, "by": n.By, "expires_s": n.ExpiresS})
		if err != nil {
			return err
		}
		return errors.Join(Record(ctx, tx, Change{What: "token.create", Object: n.Name, After: made.says()}), tell(ctx, tx))
	})
	if pg.Code(err) == uniqueViolation {
		return Made{}, fmt.Errorf("%w: %q; revoke it first, or take another name", ErrName, n.Name)
	}
	return Made{Token: made, Text: text}, err
}

const uniqueViolation = "23505"

// stranger is a name that a token would be bound to and that the site does not have.
type stranger struct {
	Kind, Name string
	Known      []string
}

// strangers refuses a token that would open nothing: who has it would be told "no jobs", or that there is no such share.
func strangers(ctx context.Context, tx pgx.Tx, of Subject) error {
	all, err := many[stranger](ctx, tx, "strangers", pgx.StrictNamedArgs{"queues": append([]string{}, of.Queues...), "share": of.Share})
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range all {
		errs = append(errs, fmt.Errorf("%w: the site has no %s %q; it has %s", ErrInvalid, s.Kind, s.Name, cmp.Or(strings.Join(s.Known, ", "), "none yet: divvy apply")))
	}
	return errors.Join(errs...)
}

// Revoke ends a token by its name, or by its prefix, or by a text that begins with that, such as the token itself. A
// repeat changes nothing. ErrNoToken: there is none.
func (s *Store) Revoke(ctx context.Context, which, by string) (Token, error) {
	var t Token
	err := pg.InTx(ctx, s.db, func(tx pgx.Tx) error {
		was, err := one(ctx, tx, "lock", pgx.StrictNamedArgs{"which": which})
		if err != nil {
			return err
		}
		if t = was; was.RevokedAt != nil {
			return nil
		}
		if t, err = one(ctx, tx, "revoke", pgx.StrictNamedArgs{"id": was.ID, "by": by}); err != nil {
			return err
		}
		return errors.Join(Record(ctx, tx, Change{What: "token.revoke", Object: t.Name, Before: was.says(), After: "revoked"}), tell(ctx, tx))
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return Token{}, fmt.Errorf("%w: %q is neither the name nor the prefix of one", ErrNoToken, short(which))
	}
	return t, err
}

// says is a token in the words of the audit.
func (t Token) says() string {
	s := t.Prefix + ", " + string(t.Role)
	if of := t.Subject.String(); of != "" {
		s += " of " + of
	}
	if t.ExpiresAt != nil {
		s += ", until " + t.ExpiresAt.UTC().Format(time.RFC3339)
	}
	return s
}

// short is what may be said again of a text that may be a whole token.
func short(which string) string {
	const most = len(scheme) + 10
	if len(which) > most {
		return which[:most] + "…"
	}
	return which
}

// List lists tokens by name: all that are neither revoked nor expired, or all there were.
func (s *Store) List(ctx context.Context, all bool) ([]Token, error) {
	return many[Token](ctx, s.db, "list", pgx.StrictNamedArgs{"all": all})
}

// tell has the daemons look at once.
func tell(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, query["notify"], pgx.StrictNamedArgs{})
	return pg.Named("access: notify", err)
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func many[T any](ctx context.Context, db querier, name string, args pgx.StrictNamedArgs) ([]T, error) {
	all, err := pg.Collect[T](ctx, db, query[name], args)
	return all, pg.Named("access", err)
}

func one(ctx context.Context, db querier, name string, args pgx.StrictNamedArgs) (Token, error) {
	all, err := many[Token](ctx, db, name, args)
	if err == nil && len(all) == 0 {
		err = pgx.ErrNoRows
	}
	if err != nil {
		return Token{}, err
	}
	return all[0], nil
}
