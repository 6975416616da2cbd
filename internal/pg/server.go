package pg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// server is one run of postgres as our child.
type server struct {
	process *os.Process
	exited  chan struct{} // closed when it has ended
	err     error         // how it ended; read after exited
}

// startChild starts cmd on a thread that lives until cmd has ended: the kernel's death signal fires when the
// *thread* that started a child ends, not the process.
func startChild(cmd *exec.Cmd) (*server, error) {
	s := &server{exited: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine
		err := cmd.Start()
		started <- err
		if err == nil {
			s.err = cmd.Wait()
			close(s.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	s.process = cmd.Process
	return s, nil
}

// command is a program of the installation, run as the server's account, in a folder that it may enter, with
// none of the caller's PG* settings.
func (c *Cluster) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(c.bin.path(program), args...)
	cmd.Dir = c.at.base
	cmd.SysProcAttr = attributes(c.acc, c.deathSignal())
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "PG") && !strings.HasPrefix(kv, "LC_") && !strings.HasPrefix(kv, "LANG") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "LC_ALL=C")
	return cmd
}

// deathSignal is a fast, clean stop; an ephemeral server needs no clean one.
func (c *Cluster) deathSignal() syscall.Signal {
	if c.cfg.Ephemeral {
		return syscall.SIGQUIT
	}
	return syscall.SIGINT
}

// initialise makes the data folder unless it exists. initdb works beside it and the result is renamed, so a
// data folder is whole or not there; the owner's lock is held.
func (c *Cluster) initialise() error {
	if _, err := os.Stat(c.at.data); err == nil {
		return c.acc.checkPrivate(c.at.data)
	} else if !os.IsNotExist(err) {
		return err
	}
	unfinished, _ := filepath.Glob(c.at.data + ".init-*")
	for _, dir := range unfinished { // of an initdb that was killed: never was a cluster
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	fresh, err := os.MkdirTemp(c.at.base, "data.init-")
	if err != nil {
		return err
	}
	if err := os.Chown(fresh, c.acc.uid, c.acc.gid); err != nil {
		return err
	}
	if ok, err := c.kept(fresh); err != nil {
		return err
	} else if ok {
		return os.Rename(fresh, c.at.data)
	}
	args := []string{"-D", fresh, "-U", dbUser, "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-instructions"}
	if c.cfg.NoFsync {
		args = append(args, "--no-sync")
	}
	var out strings.Builder
	cmd := c.command("initdb", args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	s, err := startChild(cmd)
	if err == nil {
		<-s.exited
		err = s.err
	}
	if err != nil {
		return fmt.Errorf("initdb: %w: %s", err, strings.TrimSpace(out.String()))
	}
	return os.Rename(fresh, c.at.data)
}

// launch starts the server and waits until it answers. A server that does not come up because remains of the
// last one are still going away is started again for a while.
func (c *Cluster) launch(ctx context.Context) (*server, error) {
	if err := c.acc.privateDir(c.at.run); err != nil {
		return nil, err
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		s, err := c.launchOnce(ctx)
		if err == nil || ctx.Err() != nil || !errors.Is(err, errRemains) || time.Now().After(deadline) {
			return s, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// errRemains says that the data folder is still in use by a server that is about to end.
var errRemains = errors.New("remains of an earlier server")

func (c *Cluster) launchOnce(ctx context.Context) (*server, error) {
	log, start, err := c.openLog()
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := c.command("postgres", append([]string{"-D", c.at.data}, settings(c.at, c.bin, c.cfg)...)...)
	cmd.Stdout, cmd.Stderr = log, log
	s, err := startChild(cmd)
	if err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for c.probe(ctx, "postgres") != nil {
		select {
		case <-s.exited:
			return nil, c.diagnose(s.err, start)
		case <-ctx.Done():
			s.stop(syscall.SIGQUIT, 10*time.Second)
			return nil, fmt.Errorf("postgres did not answer in time: %w", ctx.Err())
		case <-tick.C:
		}
	}
	return s, nil
}

// diagnose turns the end of a server that did not come up into an error with the end of its log.
func (c *Cluster) diagnose(exit error, start int64) error {
	text, _ := os.ReadFile(c.at.log)
	tail := string(text[min(start, int64(len(text))):])
	if len(tail) > 2000 {
		tail = tail[len(tail)-2000:]
	}
	err := fmt.Errorf("postgres ended at start (%v), log %s: %s", exit, c.at.log, strings.TrimSpace(tail))
	if strings.Contains(tail, "pre-existing shared memory block") || strings.Contains(tail, "lock file \"postmaster.pid\" already exists") {
		return fmt.Errorf("%w: %w", errRemains, err)
	}
	return err
}

// openLog appends to the server's log, which starts afresh above 16 MB with one older one kept.
func (c *Cluster) openLog() (f *os.File, size int64, err error) {
	if st, err := os.Stat(c.at.log); err == nil && st.Size() > 16*mib {
		if err := os.Rename(c.at.log, c.at.log+".1"); err != nil {
			return nil, 0, err
		}
	}
	f, err = os.OpenFile(c.at.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY|syscall.O_NOFOLLOW, 0o640)
	if err != nil {
		return nil, 0, fmt.Errorf("log of the private cluster: %w", err)
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, st.Size(), nil
}

// probe proves that our own server answers on our own socket.
func (c *Cluster) probe(ctx context.Context, db string) error {
	if err := c.acc.checkPrivate(c.at.run); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.at.dsn(db))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	var data string
	if err := conn.QueryRow(ctx, "SELECT current_setting('data_directory')").Scan(&data); err != nil {
		return err
	}
	if data != c.at.data {
		return fmt.Errorf("the server at %s serves %s, not %s: not ours", c.at.run, data, c.at.data)
	}
	return nil
}

// createDatabase makes the database of the DSN once.
func (c *Cluster) createDatabase(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, c.at.dsn("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err = conn.Exec(ctx, "CREATE DATABASE "+dbName); Code(err) == "42P04" { // exists
		return nil
	}
	return err
}

// stop signals the server and waits for its end, then insists with SIGQUIT and at last SIGKILL.
func (s *server) stop(sig syscall.Signal, patience time.Duration) {
	for _, sig := range []syscall.Signal{sig, syscall.SIGQUIT, syscall.SIGKILL} {
		_ = s.process.Signal(sig)
		select {
		case <-s.exited:
			return
		case <-time.After(patience):
			patience = 5 * time.Second
		}
	}
	<-s.exited
}
