package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// release is a line of .ci/releases.
type release struct {
	name, commit string
	migration    int64 // the newest that it knows; 0: its migrations are those before the baseline
}

// releases are all of them, oldest first.
func releases(t *testing.T) (all []release) {
	t.Helper()
	text, err := os.ReadFile("../../.ci/releases")
	if err != nil {
		t.Fatal(err)
	}
	for n, line := range strings.Split(string(text), "\n") {
		line, _, _ = strings.Cut(line, "#")
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		var r release
		if len(f) == 3 {
			r.name, r.commit = f[0], f[1]
			if f[2] != "-" {
				r.migration, err = strconv.ParseInt(f[2], 10, 64)
			}
		}
		if err != nil || len(r.commit) != 40 || !strings.HasPrefix(r.name, "v") {
			t.Fatalf(".ci/releases, line %d: %q: want a name like v0.8.0, a commit of 40 digits, the number of the newest migration or a dash", n+1, line)
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		t.Fatal(".ci/releases names no release")
	}
	return all
}

// released are the releases whose migrations are in this tree: what is behind them only adds.
func released(t *testing.T) (all []release) {
	t.Helper()
	for _, r := range releases(t) {
		if r.migration > 0 {
			all = append(all, r)
		}
	}
	return all
}

// git runs it in this repository.
func git(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = "../.."
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return strings.TrimSpace(string(out)), nil
}

// here says whether a commit is in this clone, which may have no history.
func here(commit string) bool {
	_, err := git("cat-file", "-e", commit+"^{commit}")
	return err == nil
}

// before says whether HEAD comes after a commit that is here.
func before(commit string) (bool, error) {
	head, err := git("rev-parse", "HEAD")
	if err != nil || head == commit {
		return false, err
	}
	_, err = git("merge-base", "--is-ancestor", commit, "HEAD")
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return false, nil
	}
	return err == nil, err
}

// previous is the newest release that HEAD comes after: where there is no history, the last line of .ci/releases, since that
// was added behind its commit.
func previous(t *testing.T) release {
	t.Helper()
	for _, r := range slices.Backward(releases(t)) {
		if !here(r.commit) {
			return r
		}
		ok, err := before(r.commit)
		if err != nil {
			t.Fatalf("release %s: %v", r.name, err)
		}
		if ok {
			return r
		}
	}
	t.Fatal("HEAD comes after no release of .ci/releases")
	return release{}
}

// build makes the release's program, from a clone with its tag, so that it knows its version. DIVVY_RELEASES names a folder
// where it is kept for the next time.
func (r release) build(t *testing.T) (program string) {
	t.Helper()
	keep := os.Getenv("DIVVY_RELEASES")
	kept := filepath.Join(keep, fmt.Sprintf("divvy-%s-%.12s-%s", r.name, r.commit, runtime.Version()))
	if _, err := os.Stat(kept); keep != "" && err == nil {
		return kept
	}
	dir := r.checkOut(t)
	program = filepath.Join(dir, "divvy-of-"+r.name)
	commands(t, []string{"git", "-C", dir, "tag", "-f", r.name}, []string{"go", "-C", dir, "build", "-o", program, "./cmd/divvy"})
	if keep == "" {
		return program
	}
	if err := os.MkdirAll(keep, 0o755); err != nil {
		t.Fatal(err)
	}
	commands(t, []string{"mv", program, kept})
	return kept
}

// checkOut is a folder with the release's files. A clone without history asks where it came from for this one commit; where
// that cannot be had, the test is skipped, which .ci/tally.go counts as failed.
func (r release) checkOut(t *testing.T) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), r.name)
	if here(r.commit) {
		tree, err := git("rev-parse", "--show-toplevel")
		if err != nil {
			t.Fatal(err)
		}
		commands(t, []string{"git", "clone", "-q", "--shared", "--no-checkout", tree, dir},
			[]string{"git", "-C", dir, "-c", "advice.detachedHead=false", "checkout", "-q", r.commit})
		return dir
	}
	origin, err := git("remote", "get-url", "origin")
	if err == nil {
		commands(t, []string{"git", "init", "-q", dir})
		_, err = git("-C", dir, "fetch", "-q", "--depth", "1", origin, r.commit)
	}
	if err != nil {
		t.Skipf("SKIPPED: release %s is not in this clone, and cannot be had; fetch the whole history (git fetch --unshallow): %v", r.name, err)
	}
	commands(t, []string{"git", "-C", dir, "-c", "advice.detachedHead=false", "checkout", "-q", "FETCH_HEAD"})
	return dir
}

// commands runs them one after the other.
func commands(t *testing.T, all ...[]string) {
	t.Helper()
	for _, args := range all {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// Where there are tags, .ci/releases says the same; and what it says of migrations is so.
func TestReleases(t *testing.T) {
	all := releases(t)
	named := map[string]string{}
	for i, r := range all {
		named[r.name] = r.commit
		if i > 0 && r.migration < all[i-1].migration {
			t.Errorf("%s knows fewer migrations than %s", r.name, all[i-1].name)
		}
	}
	if _, err := git("rev-parse", "HEAD"); err != nil {
		t.Logf("no history here to compare with: %v", err)
		return
	}
	tags, err := git("tag", "--list", "v*", "--format=%(refname:strip=2) %(objectname) %(*objectname)")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(tags, "\n") {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		commit := f[len(f)-1]       // of an annotated tag its commit is the last
		past, err := before(commit) // a tag that is here has its commit here
		if err != nil {
			t.Fatal(err)
		}
		switch has := named[f[0]]; {
		case has == "" && past:
			t.Errorf("tag %s is not in .ci/releases; add: %s %s %d", f[0], f[0], commit, newestOf(t, commit))
		case has != "" && has != commit:
			t.Errorf("tag %s is %s, .ci/releases says %s", f[0], commit, has)
		}
	}
	for _, r := range all {
		if !here(r.commit) {
			t.Logf("%s is not in this clone", r.name)
			continue
		}
		if n := newestOf(t, r.commit); r.migration > 0 && n != r.migration {
			t.Errorf("%s knows migrations up to %d, .ci/releases says %d", r.name, n, r.migration)
		}
	}
}

// newestOf is the newest migration of a commit.
func newestOf(t *testing.T, commit string) (newest int64) {
	t.Helper()
	files, err := git("ls-tree", "--name-only", commit, "migrations/")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range strings.Split(files, "\n") {
		if number, _, ok := strings.Cut(strings.TrimPrefix(file, "migrations/"), "_"); ok {
			if n, err := strconv.ParseInt(number, 10, 64); err == nil {
				newest = max(newest, n)
			}
		}
	}
	return newest
}
