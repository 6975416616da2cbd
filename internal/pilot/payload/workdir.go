package payload

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/divvyhq/divvy/api/wire"
)

// What is in the folder of a job. The payload lives in work, so it cannot take the names of the others.
const (
	workName    = "work"
	tmpName     = "tmp"
	stdoutName  = "stdout.log"
	stderrName  = "stderr.log"
	outputsName = "outputs.json"
	spareName   = "spare-" // and a number: not a job's folder yet
)

// jobName is what a job's folder is called: job-attempt.
var jobName = regexp.MustCompile(`^\d+-\d+$`)

// workDir holds a folder for each job. The youngest of the ended ones are kept. A few empty ones are made
// ahead: on a busy disk the six new names of a folder can take longer than everything else between two jobs.
type workDir struct {
	root string
	lock *os.File
	keep int
	user *jobUser

	mu     sync.Mutex
	ended  []string // oldest first
	spare  []string
	nSpare int // made so far
}

// openWorkDir takes a folder for this pilot alone and clears away what a killed one left there.
func openWorkDir(root string, keep int) (*workDir, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(root, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	w := &workDir{root: root, lock: lock, keep: max(0, keep)}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		return nil, fmt.Errorf("%s: another pilot works there: %w", root, err)
	}
	if err := w.adopt(); err != nil {
		lock.Close()
		return nil, err
	}
	return w, nil
}

// adopt counts the folders of earlier runs among the ended ones, oldest first.
func (w *workDir) adopt() error {
	list, err := os.ReadDir(w.root)
	if err != nil {
		return err
	}
	age := map[string]int64{}
	for _, e := range list {
		path := filepath.Join(w.root, e.Name())
		if e.IsDir() && strings.HasPrefix(e.Name(), spareName) {
			if err := removeAll(path); err != nil {
				return err
			}
		}
		if !e.IsDir() || !jobName.MatchString(e.Name()) {
			continue
		}
		if st, err := e.Info(); err == nil {
			age[path] = st.ModTime().UnixNano()
			w.ended = append(w.ended, path)
		}
	}
	slices.SortFunc(w.ended, func(a, b string) int { return cmp.Compare(age[a], age[b]) })
	return nil
}

// stock makes folders ahead until there are n.
func (w *workDir) stock(n int) error {
	for {
		w.mu.Lock()
		enough := len(w.spare) >= n
		w.nSpare++
		dir := filepath.Join(w.root, fmt.Sprintf("%s%d", spareName, w.nSpare))
		w.mu.Unlock()
		if enough {
			return nil
		}
		if err := errors.Join(fill(dir), w.user.give(dir)); err != nil {
			return err
		}
		w.mu.Lock()
		w.spare = append(w.spare, dir)
		w.mu.Unlock()
	}
}

// fill makes an empty job folder.
func fill(dir string) error {
	for _, d := range []string{dir, filepath.Join(dir, workName), filepath.Join(dir, tmpName)} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return err
		}
	}
	for _, name := range []string{stdoutName, stderrName} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// make is a new, empty folder for a job.
func (w *workDir) make(l wire.Lease) (string, error) {
	dir := filepath.Join(w.root, fmt.Sprintf("%d-%d", l.Job, l.Attempt))
	var spare string
	w.mu.Lock()
	w.ended = slices.DeleteFunc(w.ended, func(s string) bool { return s == dir })
	if n := len(w.spare); n > 0 {
		spare, w.spare = w.spare[n-1], w.spare[:n-1]
	}
	w.mu.Unlock()
	if spare != "" && os.Rename(spare, dir) == nil {
		return dir, nil
	}
	// No spare, or the folder is there: another site, or the same one begun anew, counts its jobs from 1 again.
	if err := errors.Join(removeAll(dir), removeSpare(spare)); err != nil {
		return "", err
	}
	return dir, errors.Join(fill(dir), w.user.give(dir))
}

func removeSpare(dir string) error {
	if dir == "" {
		return nil
	}
	return removeAll(dir)
}

// done removes the files of an ended job but for its logs, and the oldest folders above the number to keep.
func (w *workDir) done(dir string, keepAll bool) error {
	if keepAll {
		return nil
	}
	errs := []error{removeAll(filepath.Join(dir, workName)), removeAll(filepath.Join(dir, tmpName))}
	w.mu.Lock()
	w.ended = append(w.ended, dir)
	n := max(0, len(w.ended)-w.keep)
	old := slices.Clone(w.ended[:n])
	w.ended = slices.Delete(w.ended, 0, n)
	w.mu.Unlock()
	for _, d := range old {
		errs = append(errs, removeAll(d))
	}
	return errors.Join(errs...)
}

// close gives the folder up, but for what is kept.
func (w *workDir) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.spare {
		_ = removeAll(d) // the next pilot clears away what stays
	}
	_ = w.lock.Close()
}

// removeAll also removes folders that a job made read-only.
func removeAll(path string) error {
	if err := os.RemoveAll(path); err == nil {
		return nil
	}
	if root, err := os.OpenRoot(filepath.Dir(path)); err == nil {
		defer root.Close()
		_ = fs.WalkDir(root.FS(), filepath.Base(path), func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				_ = open(root, p)
			}
			return nil
		})
	}
	return os.RemoveAll(path)
}

// open makes a folder one that can be emptied. What a job has left running may put a link in its place meanwhile: one that leads
// out of root is refused.
func open(root *os.Root, folder string) error { return root.Chmod(folder, 0o700) }
