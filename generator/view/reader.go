package view

import (
	"context"
	"embed"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/internal/site/strict"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

var query = pg.MustLoad(sqlFiles)

// ErrNoTask says that no task has that id. (404)
var ErrNoTask = errors.New("no such task")

// Reader reads tasks for people. All methods may be called at once.
type Reader struct {
	pool *pgxpool.Pool
	site func(context.Context) (*site.Site, error)
}

// New reads by a site in force that may be a second old.
func New(pool *pgxpool.Pool, inForce func(context.Context) (*site.Site, error)) *Reader {
	return &Reader{pool: pool, site: inForce}
}

// KnownShare refuses the name of a share, which chose no task, where the site has none of that name either: it is misspelt.
func (rd *Reader) KnownShare(ctx context.Context, path string) error {
	if path == "" {
		return nil
	}
	st, err := rd.site(ctx)
	if err != nil {
		return fmt.Errorf("site: %w", err)
	}
	if _, ok := st.Tree.ByPath(path); ok {
		return nil
	}
	var paths []string
	for _, n := range st.Tree.Nodes[1:] { // the root has no name
		paths = append(paths, n.Path)
	}
	return spec.Invalid("share", fmt.Sprintf("there is no share %q", path), strict.DidYouMean(path, paths))
}

// LikePattern is a glob of * and ? as LIKE has it.
func LikePattern(glob string) string {
	var out []rune
	for _, r := range glob {
		switch r {
		case '*':
			r = '%'
		case '?':
			r = '_'
		case '%', '_', '\\':
			out = append(out, '\\')
		}
		out = append(out, r)
	}
	return string(out)
}
