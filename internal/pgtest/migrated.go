package pgtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/migrations"
)

// keptTemplate is the migrated database of a cluster that is kept. stateOf and unfinished begin the names of what keep makes on the way.
const (
	keptTemplate = "divvy_template"
	stateOf      = "divvy-pgtest-"
	unfinished   = "unfinished-"
)

// migrated is where a cluster with the migrated database is kept, to begin from: initdb and the migrations take most of what a small package
// does. The first test binary of a day and a schema makes it, in the user's cache. Empty: it could not, and each does all itself.
func migrated(ctx context.Context) string {
	dir, err := keptToday(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "pgtest: no migrated cluster is kept for the other packages:", err)
		return ""
	}
	return dir
}

func keptToday(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	all := filepath.Join(cache, "divvy", "pgtest")
	if err := os.MkdirAll(all, 0o700); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(all, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", err
	}
	defer lock.Close() // which unlocks
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	now := time.Now().UTC()
	key, err := keyOf(ctx, now)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(all, "kept-"+key)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	for _, old := range slices.Concat(glob(all, "kept-*"), glob(all, unfinished+"*"), glob(os.TempDir(), stateOf+"*")) { // of makers that were killed
		if st, err := os.Stat(old); err == nil && now.Sub(st.ModTime()) > 24*time.Hour {
			_ = os.RemoveAll(old)
		}
	}
	return dir, keep(ctx, all, dir)
}

func glob(dir, pattern string) []string {
	found, _ := filepath.Glob(filepath.Join(dir, pattern))
	return found
}

// keyOf names all that the migrated database follows from.
func keyOf(ctx context.Context, now time.Time) (string, error) {
	postgres, _, err := pg.Program(ctx, "postgres")
	if err != nil {
		return "", err
	}
	version, err := exec.CommandContext(ctx, postgres, "--version").Output()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintln(h, now.Format(time.DateOnly), runtime.GOARCH, postgres, string(version), makeDays)
	err = fs.WalkDir(migrations.FS, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(migrations.FS, path)
		fmt.Fprintf(h, "%s\n%s\n", path, text)
		return err
	})
	return hex.EncodeToString(h.Sum(nil)[:8]), err
}

// keep makes a cluster with the migrated database and keeps it in dir, or nothing.
func keep(ctx context.Context, beside, dir string) (err error) {
	state, err := os.MkdirTemp("", stateOf)
	if err != nil {
		return err
	}
	defer os.RemoveAll(state)
	if err := os.Chmod(state, 0o755); err != nil { // the server may run as another user
		return err
	}
	c, err := pg.StartCluster(ctx, pg.ClusterConfig{StateDir: state, NoFsync: true, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Stop(ctx)) }()
	admin, err := pg.Open(ctx, c.DSN(), pg.Name("divvy-test"), pg.MaxConns(1))
	if err != nil {
		return err
	}
	s := &server{base: c.DSN(), admin: admin, template: keptTemplate}
	err = s.makeTemplate(ctx)
	admin.Close()
	if err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(beside, unfinished)
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	if err := c.Keep(ctx, fresh); err != nil {
		return err
	}
	return os.Rename(fresh, dir)
}
