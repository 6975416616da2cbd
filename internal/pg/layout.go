package pg

import (
	"fmt"
	"hash/fnv"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
)

// layout is where a private cluster keeps its things. base belongs to whoever runs divvy; data and run belong
// to the account of the server, so that not even the server may replace the lock file or its log.
type layout struct {
	base  string // <state>/postgres-<major>
	data  string
	run   string // the socket's folder
	log   string
	owner string // lock file
}

const (
	socketName = ".s.PGSQL.5432"
	socketPath = 107 // most bytes of a unix socket's path: sun_path less its end
	dbUser     = "divvy"
	dbName     = "divvy"
)

// prepare makes the folders under state.
func prepare(state string, major int, acc account) (layout, error) {
	state, err := filepath.Abs(state)
	if err != nil {
		return layout{}, err
	}
	base := filepath.Join(state, fmt.Sprintf("postgres-%d", major))
	if err := os.MkdirAll(base, 0o755); err != nil {
		return layout{}, fmt.Errorf("state folder: %w", err)
	}
	// The server reports its data folder without symbolic links.
	if base, err = filepath.EvalSymlinks(base); err != nil {
		return layout{}, fmt.Errorf("state folder: %w", err)
	}
	if dir, ok := acc.canReach(base); !ok {
		return layout{}, fmt.Errorf("private cluster: the server runs as user %s, which may not enter %s: name another --state-dir "+
			"(not below /root), or open that folder (chmod o+x)", acc.name, dir)
	}
	l := layout{base: base, data: filepath.Join(base, "data"), run: filepath.Join(base, "run"),
		log: filepath.Join(base, "server.log"), owner: filepath.Join(base, "owner")}
	if len(filepath.Join(l.run, socketName)) > socketPath {
		l.run = shortRun(base, acc)
	}
	return l, nil
}

// shortRun names a folder for the socket of a cluster whose own path is too long for one.
func shortRun(base string, acc account) string {
	h := fnv.New64a()
	h.Write([]byte(base))
	name := fmt.Sprintf("divvy-%d-%x", acc.uid, h.Sum64())
	dir := filepath.Join(os.TempDir(), name)
	if _, ok := acc.canReach(os.TempDir()); !ok || len(filepath.Join(dir, socketName)) > socketPath {
		dir = filepath.Join("/tmp", name)
	}
	return dir
}

// dsn reaches database db through the private socket.
func (l layout) dsn(db string) string {
	v := url.Values{"host": {l.run}, "user": {dbUser}, "port": {"5432"}, "sslmode": {"disable"}}
	return "postgres:///" + db + "?" + v.Encode()
}

// lock takes the owner's lock; nil without error when another process has it. The kernel gives it back when
// the process ends, however it ends.
func (l layout) lock() (*os.File, error) {
	f, err := os.OpenFile(l.owner, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("owner's lock of the private cluster: %w", err)
	}
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err {
	case nil:
	case syscall.EWOULDBLOCK:
		return nil, f.Close()
	default:
		f.Close()
		return nil, fmt.Errorf("owner's lock of the private cluster: %w", err)
	}
	// For people only; the lock is what counts.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	}
	return f, nil
}
