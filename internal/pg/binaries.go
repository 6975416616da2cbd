package pg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// binaries is one installation of PostgreSQL's server programs.
type binaries struct {
	dir   string
	major int
}

// oldestMajor is the oldest PostgreSQL that the schema works on.
const oldestMajor = 15

// ErrNoBinaries says that no usable PostgreSQL server programs were found; the message names the remedies.
var ErrNoBinaries = errors.New("no PostgreSQL server programs")

func (b binaries) path(program string) string { return filepath.Join(b.dir, program) }

// Program finds a program of the newest PostgreSQL that is installed, pg_dump for instance, and its major version.
func Program(ctx context.Context, name string) (path string, major int, err error) {
	found, err := findBinaries(ctx)
	if err != nil {
		return "", 0, err
	}
	slices.SortStableFunc(found, func(a, b binaries) int { return b.major - a.major })
	for _, b := range found {
		if _, err := os.Stat(b.path(name)); err == nil {
			return b.path(name), b.major, nil
		}
	}
	return "", 0, fmt.Errorf("%w: no %s", ErrNoBinaries, name)
}

// findBinaries lists the usable installations, best first: DIVVY_PGBIN alone if set, else PATH, pg_config,
// and the usual folders, newest first.
func findBinaries(ctx context.Context) ([]binaries, error) {
	if dir := os.Getenv("DIVVY_PGBIN"); dir != "" {
		b, err := inspect(ctx, dir)
		if err != nil {
			return nil, fmt.Errorf("%w in DIVVY_PGBIN=%s: %w", ErrNoBinaries, dir, err)
		}
		return []binaries{b}, nil
	}
	var found []binaries
	var refused []string
	seen := map[string]bool{}
	for _, dir := range candidateDirs(ctx) {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || seen[real] {
			continue
		}
		seen[real] = true
		b, err := inspect(ctx, dir)
		switch {
		case err == nil:
			found = append(found, b)
		case !errors.Is(err, os.ErrNotExist):
			refused = append(refused, fmt.Sprintf("%s: %v", dir, err))
		}
	}
	if len(found) == 0 {
		return nil, missing(refused)
	}
	return found, nil
}

func missing(refused []string) error {
	text := fmt.Sprintf("PostgreSQL %d or newer is needed for the private cluster. Install it (Debian, Ubuntu: apt-get install postgresql; "+
		"Fedora: dnf install postgresql-server), or set DIVVY_PGBIN to the folder of initdb and postgres, or use a server of your own: --database postgres://…",
		oldestMajor)
	if len(refused) > 0 {
		text += " (refused: " + strings.Join(refused, "; ") + ")"
	}
	return fmt.Errorf("%w found: %s", ErrNoBinaries, text)
}

// candidateDirs lists folders that may hold the programs, in the order of preference.
func candidateDirs(ctx context.Context) []string {
	var dirs []string
	if p, err := exec.LookPath("initdb"); err == nil {
		// Of a link, the folder that it leads to: there are the other programs.
		if real, err := filepath.EvalSymlinks(p); err == nil {
			p = real
		}
		dirs = append(dirs, filepath.Dir(p))
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin"} {
		more, _ := filepath.Glob(pattern)
		slices.SortFunc(more, func(a, b string) int { return majorIn(b) - majorIn(a) })
		dirs = append(dirs, more...)
	}
	return append(dirs, "/usr/local/pgsql/bin")
}

var (
	firstNumber = regexp.MustCompile(`\d+`)
	versionLine = regexp.MustCompile(`PostgreSQL\) (\d+)`)
)

func majorIn(path string) int {
	n, _ := strconv.Atoi(firstNumber.FindString(path))
	return n
}

// inspect checks that dir holds initdb and a postgres that is new enough.
func inspect(ctx context.Context, dir string) (binaries, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return binaries{}, err
	}
	b := binaries{dir: dir}
	if _, err := os.Stat(b.path("initdb")); err != nil {
		return b, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, b.path("postgres"), "--version").Output()
	if err != nil {
		return b, err
	}
	m := versionLine.FindSubmatch(out)
	if m == nil {
		return b, fmt.Errorf("cannot read version %q", out)
	}
	if b.major, _ = strconv.Atoi(string(m[1])); b.major < oldestMajor {
		return b, fmt.Errorf("version %d is too old", b.major)
	}
	return b, nil
}

// choose takes the installation that matches a data folder which exists under state, newest data first, else
// the best one. Data that no installation fits are an error: a fresh empty cluster beside them would look
// as if everything were lost.
func choose(found []binaries, state string) (binaries, error) {
	var majors []int
	for _, d := range dataIn(state) {
		majors = append(majors, majorIn(filepath.Base(filepath.Dir(filepath.Dir(d)))))
	}
	slices.Sort(majors)
	slices.Reverse(majors)
	for _, m := range majors {
		if i := slices.IndexFunc(found, func(b binaries) bool { return b.major == m }); i >= 0 {
			return found[i], nil
		}
	}
	if len(majors) > 0 {
		return binaries{}, fmt.Errorf("%w of version %d found, but %s holds data of that version: install PostgreSQL %d, "+
			"move the data to a newer version with pg_upgrade, or name another --state-dir", ErrNoBinaries, majors[0], state, majors[0])
	}
	return found[0], nil
}

// dataIn lists the data folders of all versions under state, by the file that each has.
func dataIn(state string) []string {
	files, _ := filepath.Glob(filepath.Join(state, "postgres-*", "data", "PG_VERSION"))
	return files
}

// HasCluster says whether StartCluster would find data in the state folder rather than make a new cluster.
func HasCluster(state string) bool { return len(dataIn(state)) > 0 }
