package local

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/cmd/divvy/serve"
)

// queue is where a Server's pilot runs, and share whose work it does.
const (
	queue = "LOCAL"
	share = "local"
)

// Server is a private daemon with one share, one queue and one pilot.
type Server struct {
	Client *client.Client
	daemon *serve.Daemon
	slots  *Slots
	folder string // has the token
}

// Start starts a server with so many slots. ctx bounds the start only.
func Start(ctx context.Context, slots int, log *slog.Logger) (_ *Server, err error) {
	s := &Server{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Stop())
		}
	}()
	if s.folder, err = os.MkdirTemp("", "divvy-local-"); err != nil { // 0700
		return nil, err
	}
	token, file := rand.Text(), filepath.Join(s.folder, "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		return nil, err
	}
	cfg := config.Defaults()
	cfg.Listen, cfg.Access.TokenFile = "127.0.0.1:0", file
	d := serve.New(cfg, log)
	d.Ephemeral()
	if err := d.Start(ctx); err != nil {
		return nil, err
	}
	s.daemon = d
	if s.Client, err = client.New(client.Config{URL: d.URL(), Token: token, UserAgent: "divvy-local", Stay: true}); err != nil {
		return nil, err
	}
	containers := ""
	if r := Runtime(); r != "" {
		containers = ", containers: " + r
	}
	site := fmt.Sprintf("shares: [{name: %s}]\non_no_match: %s\nqueues: [{name: %s, slots: %d, cores: %d%s}]\n", share, share, queue, slots, slots, containers)
	if _, err := s.Client.Site().Apply(ctx, []byte(site), client.ApplyOptions{File: "local.yml", By: "divvy run --local"}); err != nil {
		return nil, fmt.Errorf("site: %w", err)
	}
	s.slots, err = StartSlots(SlotsConfig{Client: s.Client, Queue: queue, Name: "local", Slots: slots, Pilots: 1, Log: log})
	return s, err
}

// Runtime is the first of podman, docker and apptainer that is on this machine; "" when none is.
func Runtime() string {
	for _, name := range []string{"podman", "docker", "apptainer"} {
		if _, err := exec.LookPath(name); err == nil {
			return name
		}
	}
	return ""
}

// Failed says when the daemon cannot go on.
func (s *Server) Failed() <-chan error { return s.daemon.Failed() }

// Stop ends everything and leaves nothing behind.
func (s *Server) Stop() error {
	var errs []error
	if s.slots != nil {
		s.slots.Kill()
		errs = append(errs, s.slots.Err())
	}
	if s.Client != nil {
		s.Client.Close()
	}
	if s.daemon != nil {
		errs = append(errs, s.daemon.Stop(context.Background()))
	}
	if s.folder != "" {
		errs = append(errs, os.RemoveAll(s.folder))
	}
	return errors.Join(errs...)
}
