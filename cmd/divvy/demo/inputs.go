package demo

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Sizes of an input folder: enough to do, little enough for a job of less than a second.
const (
	minFolderBytes = 4 << 10
	maxFolderBytes = 2 << 20
)

// DefaultInputs is a folder with real files: the sources of the local Go installation, else what every Unix has.
func DefaultInputs() (string, error) {
	candidates := []string{os.Getenv("GOROOT")}
	if out, err := exec.Command("go", "env", "GOROOT").Output(); err == nil {
		candidates = append(candidates, strings.TrimSpace(string(out)))
	}
	for _, root := range candidates {
		src := filepath.Join(root, "src")
		if st, err := os.Stat(src); root != "" && err == nil && st.IsDir() {
			return src, nil
		}
	}
	for _, dir := range []string{"/usr/local/go/src", "/usr/share/doc", "/usr/share", "/usr/include"} {
		if st, err := os.Stat(dir); err == nil && st.IsDir() {
			return dir, nil
		}
	}
	return "", errors.New("no folder with input files found")
}

// Folders are up to n folders below root, in the order of the file tree, that have files of their own worth a job.
func Folders(root string, n int) ([]string, error) {
	var found []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrPermission) {
				return fs.SkipDir
			}
			return err
		}
		if len(found) == n {
			return fs.SkipAll
		}
		if d.IsDir() && suits(path) {
			found = append(found, path)
		}
		return nil
	})
	if err == nil && len(found) < 10 {
		err = errors.New(root + " has less than ten folders with readable files between 4 kB and 2 MB")
	}
	return found, err
}

// suits says whether the files of a folder can be read, and are of a fair size together.
func suits(folder string) bool {
	files, err := filesOf(folder)
	if err != nil {
		return false
	}
	var size int64
	for _, f := range files {
		st, err := os.Stat(f)
		if err != nil || st.Mode().Perm()&0o444 == 0 {
			return false
		}
		size += st.Size()
	}
	return size >= minFolderBytes && size <= maxFolderBytes
}
