package next

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/divvyhq/divvy/migrations"
)

//go:embed 0*.sql
var files embed.FS

// FS has the files of migrations, those of this package in place of their namesakes.
var FS fs.ReadDirFS = merged{}

type merged struct{}

// Open opens the file of this package, or else that of migrations.
func (merged) Open(name string) (fs.File, error) {
	f, err := files.Open(name)
	if name == "." || errors.Is(err, fs.ErrNotExist) {
		return migrations.FS.Open(name)
	}
	return f, err
}

// ReadDir lists the names of migrations, which are all that there are.
func (merged) ReadDir(name string) ([]fs.DirEntry, error) { return migrations.FS.ReadDir(name) }

// Up makes the schema in an empty database.
func Up(ctx context.Context, db *pgxpool.Pool) error {
	err := with(db, func(p *goose.Provider) error {
		_, err := p.Up(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("migrate up to the next schema: %w", err)
	}
	return nil
}

// with runs fn with a provider of FS.
func with(db *pgxpool.Pool, fn func(*goose.Provider) error) error {
	conn := stdlib.OpenDBFromPool(db)
	defer conn.Close()
	p, err := goose.NewProvider(goose.DialectPostgres, conn, FS, goose.WithTableName("migrations"), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	return fn(p)
}
