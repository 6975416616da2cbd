package sandbox

import (
	"bytes"
	"compress/gzip"
	"context"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/internal/pg"
)

//go:embed sql/*.sql
var files embed.FS

var query = pg.MustLoad(files)

// Bounds of what is kept, in bytes and files.
const (
	MaxSize  = 10 << 20 // PanDA's clients upload no larger file for a task without a build job
	maxOwner = 512 << 20
	maxAll   = 4 << 30
	maxFiles = 50_000
)

// Unused is how long a file is kept that is not used.
const Unused = 30 * 24 * time.Hour

// The errors of this package. What wraps them says what would be right.
var (
	ErrInvalid = errors.New("the file is not accepted")
	ErrForeign = errors.New("the file belongs to another user")
	ErrFull    = errors.New("no room for the file")
	ErrNone    = errors.New("there is no such file")
)

// Store keeps sandboxes. It is safe for concurrent use, on any number of daemons.
type Store struct{ db *pgxpool.Pool }

// NewStore makes a store on a migrated database.
func NewStore(db *pgxpool.Pool) *Store { return &Store{db: db} }

// names are those that a URL, a shell and a file system take as they are.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

const longestName = 200

// Put keeps a file. ErrInvalid, ErrForeign and ErrFull say why it does not.
func (s *Store) Put(ctx context.Context, owner, name string, content []byte) error {
	switch {
	case len(name) > longestName || !names.MatchString(name):
		return fmt.Errorf("%w: name %.60q: up to 200 letters, digits, dots, dashes and underscores, a letter or digit first", ErrInvalid, name)
	case len(content) > MaxSize:
		return fmt.Errorf("%w: %s has more than %d bytes", ErrInvalid, name, MaxSize)
	}
	checksum, err := footer(content)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrInvalid, name, err)
	}
	tag, err := s.db.Exec(ctx, query["put"], pgx.StrictNamedArgs{"name": name, "owner": owner, "checksum": int64(checksum), "content": content,
		"max_owner": maxOwner, "max_all": maxAll, "max_files": maxFiles})
	if err != nil {
		return fmt.Errorf("put: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return s.whyNot(ctx, owner, name)
	}
	return nil
}

// footer is the checksum at the end of a gzip file, which clients look for it by.
func footer(content []byte) (uint32, error) {
	if _, err := gzip.NewReader(bytes.NewReader(content)); err != nil || len(content) < 18 {
		return 0, errors.New("not a gzip file")
	}
	return binary.LittleEndian.Uint32(content[len(content)-8:]), nil
}

// whyNot says why a file was not kept.
func (s *Store) whyNot(ctx context.Context, owner, name string) error {
	var other string
	err := s.db.QueryRow(ctx, query["owner"], pgx.StrictNamedArgs{"name": name}).Scan(&other)
	switch {
	case err == nil && other != owner:
		return fmt.Errorf("%w: %s", ErrForeign, name)
	case err != nil && !errors.Is(err, pgx.ErrNoRows):
		return fmt.Errorf("owner: %w", err)
	}
	return fmt.Errorf("%w: a user may keep %d MiB, all users %d MiB in %d files; what is not used for %d days goes",
		ErrFull, maxOwner>>20, maxAll>>20, maxFiles, int(Unused/(24*time.Hour)))
}

// Find is the name of a file of an owner with a size in bytes and a gzip checksum; ErrNone where there is none. It counts as used.
func (s *Store) Find(ctx context.Context, owner string, size, checksum int64) (name string, err error) {
	err = s.db.QueryRow(ctx, query["find"], pgx.StrictNamedArgs{"owner": owner, "size": size, "checksum": checksum}).Scan(&name)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", ErrNone
	}
	return name, pg.Named("find", err)
}

// Open finds a file to read; ErrNone where there is none. It counts as used.
func (s *Store) Open(ctx context.Context, name string) (*File, error) {
	f := &File{db: s.db, name: name}
	err := s.db.QueryRow(ctx, query["open"], pgx.StrictNamedArgs{"name": name}).Scan(&f.Size, &f.stored)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, ErrNone
	}
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	return f, nil
}

// File is a file to read.
type File struct {
	Size   int64 // bytes
	db     *pgxpool.Pool
	name   string
	stored time.Time
}

// piece is how much of a file is in memory for one reader, in bytes.
const piece = 1 << 20

// CopyTo writes the file. It holds no connection of the database while it writes.
func (f *File) CopyTo(ctx context.Context, w io.Writer) error {
	for at := int64(0); at < f.Size; at += piece {
		var part []byte
		err := f.db.QueryRow(ctx, query["read"], pgx.StrictNamedArgs{"name": f.name, "stored_at": f.stored, "at": at + 1, "n": piece}).Scan(&part)
		if errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("read: %w: it was replaced or deleted meanwhile", ErrNone)
		}
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// mostPurged bounds one step.
const mostPurged = 100

// Purge deletes files that were not used for Unused and returns how many.
func (s *Store) Purge(ctx context.Context) (n int, err error) {
	tag, err := s.db.Exec(ctx, query["purge"], pgx.StrictNamedArgs{"unused": Unused, "n": mostPurged})
	return int(tag.RowsAffected()), pg.Named("purge sandboxes", err)
}
