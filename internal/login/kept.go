package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Kept are the logins of this user on this machine, a file for each server.
type Kept struct{ dir string }

// Login is one of them.
type Login struct {
	Server   string    `json:"server"`
	Issuer   string    `json:"issuer"`
	ClientID string    `json:"client_id"`
	Scopes   []string  `json:"scopes"`
	Token    string    `json:"token"` // what is sent to the server
	Access   bool      `json:"access,omitempty"`
	Refresh  string    `json:"refresh_token,omitempty"`
	Expires  time.Time `json:"expires"` // of Token; zero: nobody has said
}

// Home returns the logins of this user: below $XDG_CONFIG_HOME, else ~/.config.
func Home() (Kept, error) {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return Kept{}, fmt.Errorf("logins: %w; set XDG_CONFIG_HOME", err)
		}
		dir = filepath.Join(home, ".config")
	}
	return Kept{filepath.Join(dir, "divvy", "logins")}, nil
}

// File is where the login at a server is kept.
func (k Kept) File(server string) string {
	return filepath.Join(k.dir, url.QueryEscape(server)+".json")
}

// Get reads the login at a server; nil: there is none.
func (k Kept) Get(server string) (*Login, error) {
	file := k.File(server)
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("login: %w", err)
	}
	defer f.Close()
	if at, err := f.Stat(); err != nil {
		return nil, fmt.Errorf("login: %w", err)
	} else if at.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s: others may read it (mode %04o); chmod 600 it, or log in again", file, at.Mode().Perm())
	}
	l := &Login{}
	if err := json.NewDecoder(f).Decode(l); err != nil {
		return nil, fmt.Errorf("%s: %w; log in again", file, err)
	}
	return l, nil
}

// Put keeps a login, in place of the one at the same server.
func (k Kept) Put(ctx context.Context, l Login) error {
	unlock, err := k.lock(ctx, l.Server)
	if err != nil {
		return err
	}
	defer unlock()
	return k.write(l)
}

// Drop forgets the login at a server, and returns it; nil: there was none.
func (k Kept) Drop(ctx context.Context, server string) (*Login, error) {
	if _, err := os.Stat(k.File(server)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	unlock, err := k.lock(ctx, server)
	if err != nil {
		return nil, err
	}
	defer unlock()
	l, _ := k.Get(server) // one that cannot be read goes too
	if err := os.Remove(k.File(server)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("logout: %w", err)
	}
	return l, nil
}

// write replaces the file at once, on the disk too: the refresh token of before is used up.
func (k Kept) write(l Login) (err error) {
	f, err := os.CreateTemp(k.dir, ".new-*") // 0600
	if err != nil {
		return fmt.Errorf("login: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("login: %w", errors.Join(err, os.Remove(f.Name())))
		}
	}()
	err = json.NewEncoder(f).Encode(l) //nolint:gosec // G117: the file is for that
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), k.File(l.Server))
}

const (
	lockWait  = 30 * time.Second
	lockEvery = 20 * time.Millisecond
)

// lock has one process at a time change the login at a server. It ends with the process.
func (k Kept) lock(ctx context.Context, server string) (unlock func(), err error) {
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return nil, fmt.Errorf("login: %w", err)
	}
	name := k.File(server) + ".lock"
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("login: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	tick := time.NewTicker(lockEvery)
	defer tick.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, fmt.Errorf("lock %s: another command has it: %w", name, ctx.Err())
		case <-tick.C:
		}
	}
}
