package provision

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Folder keeps a file for each pilot of the table.
type Folder struct {
	dir  string
	lock *os.File
}

const suffix = ".pilot"

// OpenFolder makes the folder if it is not there, and locks it.
func OpenFolder(dir string) (*Folder, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of pilots: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("folder of pilots: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("another divvy provision uses %s: end it, or give another --state", dir)
	}
	return &Folder{dir, lock}, nil
}

// Close unlocks the folder.
func (f *Folder) Close() error { return f.lock.Close() }

// Read returns the pilots of a folder, by name. It needs no lock.
func Read(dir string) (list []Pilot, err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("no pilots were started from %s", dir)
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name, is := strings.CutSuffix(e.Name(), suffix)
		if !is {
			continue
		}
		p := Pilot{State: Asked}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if errors.Is(err, os.ErrNotExist) {
			continue // it left meanwhile
		}
		if err == nil {
			err = json.Unmarshal(text, &p)
		}
		if err != nil { // cut off by a crash: the name may have been started
			info, statErr := e.Info()
			if statErr != nil {
				return nil, fmt.Errorf("%s: %w", e.Name(), err)
			}
			p = Pilot{State: Asked, Asked: info.ModTime()}
		}
		p.Name = name
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b Pilot) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Write has the pilots on disk before it returns.
func (f *Folder) Write(pilots ...Pilot) error {
	for _, p := range pilots {
		text, err := json.Marshal(p)
		if err == nil {
			err = writeSynced(filepath.Join(f.dir, p.Name+suffix), text)
		}
		if err != nil {
			return fmt.Errorf("write the name %s: %w", p.Name, err)
		}
	}
	return f.sync()
}

// writeSynced replaces a file as a whole.
func writeSynced(name string, text []byte) error {
	to, err := os.OpenFile(name+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = to.Write(text)
	if err = errors.Join(err, to.Sync(), to.Close()); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// Forget drops pilots that left.
func (f *Folder) Forget(pilots ...Pilot) error {
	for _, p := range pilots {
		if err := os.Remove(filepath.Join(f.dir, p.Name+suffix)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (f *Folder) sync() error {
	dir, err := os.Open(f.dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
