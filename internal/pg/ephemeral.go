package pg

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// ephemeralPrefix begins the folders that ephemeral clusters make for themselves.
const ephemeralPrefix = "divvy-pg-"

// memoryFolder is where Linux keeps files in memory, memoryFree what must be free there: half of the memory, by default.
const (
	memoryFolder = "/dev/shm"
	memoryFree   = 4096 * mib
)

// temporaryState makes a folder for an ephemeral cluster, in the first temporary folder that the server may
// enter, and sweeps those of killed processes.
func temporaryState(acc account, noFsync bool, log *slog.Logger) (string, error) {
	for _, tmp := range temporaryFolders(noFsync) {
		if _, ok := acc.canReach(tmp); !ok {
			continue
		}
		sweep(tmp, log)
		dir, err := os.MkdirTemp(tmp, ephemeralPrefix)
		if err != nil {
			continue
		}
		return dir, os.Chmod(dir, 0o755)
	}
	return "", errors.New("private cluster: no temporary folder that the server may enter; set TMPDIR")
}

// temporaryFolders are where to try, in order: TMPDIR if somebody has said it. Data that a crash of the machine may lose
// goes into memory where there is much of it: tests make and drop hundreds of databases of 600 files each, and ext4
// looks through the inodes of the last seconds for every file that it makes, which took them most of their time.
func temporaryFolders(noFsync bool) []string {
	folders := []string{os.TempDir(), "/tmp", "/var/tmp"}
	var st syscall.Statfs_t
	if noFsync && os.Getenv("TMPDIR") == "" && syscall.Statfs(memoryFolder, &st) == nil && st.Bavail*uint64(st.Bsize) >= memoryFree {
		return append([]string{memoryFolder}, folders...)
	}
	return folders
}

// sweep removes folders of ephemeral clusters whose process was killed: they are ours, a minute old, and
// nobody holds the owner's lock or works in the data.
func sweep(tmp string, log *slog.Logger) {
	locks, _ := filepath.Glob(filepath.Join(tmp, ephemeralPrefix+"*", "postgres-*", "owner"))
	for _, path := range locks {
		base := filepath.Dir(path)
		state := filepath.Dir(base)
		st, err := os.Lstat(state)
		if err != nil || !st.IsDir() || int(st.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() || time.Since(st.ModTime()) < time.Minute {
			continue
		}
		l := layout{base: base, data: filepath.Join(base, "data"), owner: path}
		lock, err := l.lock()
		if lock == nil || err != nil {
			continue
		}
		if len(workers(l.data, pidIn(filepath.Join(l.data, pidFile)))) == 0 {
			if err := os.RemoveAll(state); err != nil {
				log.Warn("private cluster: cannot remove the folder of a killed process", "folder", state, "error", err)
			}
		}
		lock.Close()
	}
}
