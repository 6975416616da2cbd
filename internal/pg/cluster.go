package pg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// ClusterConfig says where a private cluster lives and how it runs.
type ClusterConfig struct {
	StateDir  string            // the cluster is <StateDir>/postgres-<major>; must be empty when Ephemeral
	Ephemeral bool              // own temporary folder, removed by Stop; with NoFsync in memory, if there is much
	NoFsync   bool              // for what is not kept: a crash of the machine may lose the data
	From      string            // a folder of Keep: what it has for this version is the new cluster, and initdb makes one only where it has nothing
	Settings  map[string]string // over the tuned settings
	Log       *slog.Logger      // nil: slog.Default()
}

// Cluster is a private PostgreSQL that this process owns, or is attached to and will take over.
type Cluster struct {
	cfg   ClusterConfig
	log   *slog.Logger
	bin   binaries
	acc   account
	at    layout
	lock  *os.File // held by the owner
	owner atomic.Bool

	stop sync.Once
	quit chan struct{} // closed by Stop
	done chan struct{} // closed when nothing runs any more
	hard chan struct{} // closed when Stop's patience is over
}

// How often an attached process looks whether the owner has gone, and the bounds of the pause after a start
// that failed.
const (
	watchEvery    = 100 * time.Millisecond
	restartPause  = 200 * time.Millisecond
	restartAtMost = 10 * time.Second
)

// StartCluster starts the private cluster of cfg.StateDir, making it if it does not exist, or attaches to it
// when another process owns it. ctx bounds the start only. Call Stop in the end; without it, or after a
// SIGKILL, the server stops by itself.
func StartCluster(ctx context.Context, cfg ClusterConfig) (*Cluster, error) {
	c := &Cluster{cfg: cfg, log: cfg.Log, quit: make(chan struct{}), done: make(chan struct{}), hard: make(chan struct{})}
	if c.log == nil {
		c.log = slog.Default()
	}
	if err := c.place(ctx); err != nil {
		return nil, err
	}
	var reason error
	for {
		s, err := c.tryOwn(ctx)
		if err != nil {
			return nil, fmt.Errorf("private cluster in %s: %w", c.at.base, errors.Join(err, c.release()))
		}
		if s != nil {
			go c.supervise(s)
			return c, nil
		}
		if err = c.probe(ctx, dbName); err == nil {
			c.log.Info("private cluster: attached to the server of another process", "folder", c.at.base)
			go c.follow()
			return c, nil
		}
		if reason == nil || ctx.Err() == nil { // that the time is over is no news of the other server
			reason = err
		}
		select { // the owner is starting it, or has just ended
		case <-ctx.Done():
			return nil, fmt.Errorf("private cluster in %s belongs to another process and does not answer: %w", c.at.base, reason)
		case <-time.After(watchEvery / 2):
		}
	}
}

// DSN reaches the cluster's database, whichever process owns the server.
func (c *Cluster) DSN() string { return c.at.dsn(dbName) }

// Owner says whether the server is a child of this process.
func (c *Cluster) Owner() bool { return c.owner.Load() }

// Stop stops the server if this process owns it, and does nothing to it otherwise. When ctx ends first, the
// server is stopped without a checkpoint; its next start replays the log.
func (c *Cluster) Stop(ctx context.Context) error {
	var err error
	c.stop.Do(func() { err = c.end(ctx) })
	return err
}

func (c *Cluster) end(ctx context.Context) error {
	close(c.quit)
	select {
	case <-c.done:
	case <-ctx.Done():
		close(c.hard)
		<-c.done
	}
	return c.release()
}

// place decides on programs, account and folders.
func (c *Cluster) place(ctx context.Context) (err error) {
	if c.acc, err = serverAccount(); err != nil {
		return err
	}
	found, err := findBinaries(ctx)
	if err != nil {
		return err
	}
	if c.cfg.Ephemeral {
		if c.cfg.StateDir, err = temporaryState(c.acc, c.cfg.NoFsync, c.log); err != nil {
			return err
		}
	}
	if c.bin, err = choose(found, c.cfg.StateDir); err != nil {
		return err
	}
	c.at, err = prepare(c.cfg.StateDir, c.bin.major, c.acc)
	return err
}

// tryOwn takes the owner's lock and starts the server; nil when another process has the lock. On an error
// the lock stays taken: the caller tries again or releases it.
func (c *Cluster) tryOwn(ctx context.Context) (*server, error) {
	if c.lock == nil {
		lock, err := c.at.lock()
		if lock == nil {
			return nil, err
		}
		c.lock = lock
	}
	if err := c.clearRemains(ctx); err != nil {
		return nil, err
	}
	if err := c.initialise(); err != nil {
		return nil, err
	}
	s, err := c.launch(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.createDatabase(ctx); err != nil {
		s.stop(syscall.SIGINT, 10*time.Second)
		return nil, fmt.Errorf("create database: %w", err)
	}
	c.owner.Store(true)
	return s, nil
}

// supervise keeps the server running until Stop.
func (c *Cluster) supervise(s *server) {
	defer close(c.done)
	for {
		select {
		case <-c.quit:
			c.shutDown(s)
			return
		case <-s.exited:
		}
		c.log.Error("private cluster: the server ended; starting it again", "exit", fmt.Sprint(s.err), "log", c.at.log)
		if s = c.retryOwn(); s == nil {
			return
		}
	}
}

// follow waits beside the owner and takes the server over when the owner has gone.
func (c *Cluster) follow() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.quit:
			close(c.done)
			return
		case <-tick.C:
		}
		lock, err := c.at.lock()
		if lock == nil {
			if err != nil {
				c.log.Error("private cluster: cannot watch its owner", "error", err)
			}
			continue
		}
		c.lock = lock
		c.log.Warn("private cluster: its owner has gone; taking over", "folder", c.at.base)
		if s := c.retryOwn(); s != nil {
			c.supervise(s)
		} else {
			close(c.done)
		}
		return
	}
}

// retryOwn starts the server until it runs; nil when Stop was called meanwhile.
func (c *Cluster) retryOwn() *server {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-c.quit:
			cancel()
		case <-ctx.Done():
		}
	}()
	for wait := restartPause; ; wait = min(2*wait, restartAtMost) {
		s, err := c.tryOwn(ctx)
		if err == nil {
			c.log.Info("private cluster: the server runs again", "folder", c.at.base)
			return s
		}
		if ctx.Err() != nil {
			return nil
		}
		c.log.Error("private cluster: the server does not start", "error", err)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

// shutDown ends the server: fast and clean, or at once if its data is not needed again or patience is over.
func (c *Cluster) shutDown(s *server) {
	if c.cfg.Ephemeral {
		s.stop(syscall.SIGQUIT, 10*time.Second)
		return
	}
	_ = s.process.Signal(syscall.SIGINT)
	select {
	case <-s.exited:
	case <-c.hard:
		s.stop(syscall.SIGQUIT, 10*time.Second)
	}
}

// release gives the lock back, after removing an ephemeral cluster: it made its folder itself.
func (c *Cluster) release() (err error) {
	c.owner.Store(false)
	if c.lock != nil && filepath.Dir(c.at.run) != c.at.base {
		_ = os.Remove(c.at.run) // in a temporary folder; goes only when it is empty, and is made again
	}
	if c.cfg.Ephemeral && c.lock != nil {
		err = os.RemoveAll(c.cfg.StateDir)
	}
	if c.lock != nil {
		c.lock.Close()
		c.lock = nil
	}
	return err
}
