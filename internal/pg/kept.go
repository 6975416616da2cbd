package pg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Keep stops a cluster that this process owns, cleanly, and copies its data below dir, for clusters that are made From it.
func (c *Cluster) Keep(ctx context.Context, dir string) error {
	if !c.Owner() || c.cfg.Ephemeral {
		return errors.New("private cluster: kept can be what this process owns, and is not ephemeral")
	}
	if err := c.Stop(ctx); err != nil {
		return err
	}
	return copied(c.at.data, keptData(dir, c.bin.major), os.Geteuid(), os.Getegid())
}

// keptData is where the data of a version are in a folder of Keep.
func keptData(dir string, major int) string {
	return filepath.Join(dir, "postgres-"+strconv.Itoa(major))
}

// kept copies what was kept to fresh; false: there is nothing of this version.
func (c *Cluster) kept(fresh string) (bool, error) {
	if c.cfg.From == "" {
		return false, nil
	}
	from := keptData(c.cfg.From, c.bin.major)
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err := os.Remove(fresh); err != nil {
		return false, err
	}
	return true, copied(from, fresh, c.acc.uid, c.acc.gid)
}

// copied copies a data folder, all of it to belong to an account.
func copied(from, to string, uid, gid int) error {
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		dst := filepath.Join(to, rel)
		switch {
		case d.IsDir():
			err = os.Mkdir(dst, 0o700)
		case d.Type().IsRegular():
			err = copyFile(path, dst)
		default:
			return fmt.Errorf("%s is neither a file nor a folder", path) // a tablespace: a link
		}
		if err != nil {
			return err
		}
		return os.Lchown(dst, uid, gid)
	})
	if err != nil {
		return fmt.Errorf("private cluster: copy of %s: %w", from, err)
	}
	return nil
}

func copyFile(from, to string) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	_, err = io.Copy(dst, src)
	return err
}
