package serve

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"
)

// supervisor is systemd where it wants to hear from the daemon (Type=notify, WatchdogSec): a datagram for each thing said.
// The zero value does nothing.
type supervisor struct {
	socket string
	within time.Duration // it kills a daemon that it has not heard of for so long; 0 = never
	log    *slog.Logger
}

// supervisorOf reads what systemd says in the environment, and takes it out: PostgreSQL and other children would say of
// themselves what is not true of the daemon.
func supervisorOf(log *slog.Logger) supervisor {
	s := supervisor{socket: os.Getenv("NOTIFY_SOCKET"), log: log}
	usec, pid := os.Getenv("WATCHDOG_USEC"), os.Getenv("WATCHDOG_PID")
	for _, name := range []string{"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} {
		_ = os.Unsetenv(name)
	}
	if pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return s // another process must beat
	}
	if n, err := strconv.ParseInt(usec, 10, 64); err == nil && n > 0 {
		s.within = time.Duration(n) * time.Microsecond
	}
	return s
}

// tell sends a state. One that does not arrive is logged: the daemon works without its supervisor.
func (s supervisor) tell(state string) {
	if s.socket == "" {
		return
	}
	conn, err := net.Dial("unixgram", s.socket)
	if err == nil {
		defer conn.Close()
		_, err = conn.Write([]byte(state))
	}
	if err != nil {
		s.log.Warn("systemd was not told", "state", state, "error", err)
	}
}

// watch tells that the daemon lives, three times in the time that is given, as long as alive is nil. It returns when ctx
// ends.
func (s supervisor) watch(ctx context.Context, alive func(context.Context) error, tell func(state string)) {
	if s.socket == "" || s.within == 0 {
		return
	}
	tick := time.NewTicker(s.within / 3)
	defer tick.Stop()
	for {
		bounded, cancel := context.WithTimeout(ctx, s.within/3)
		err := alive(bounded)
		cancel()
		if err == nil {
			tell("WATCHDOG=1")
		} else if ctx.Err() == nil {
			s.log.Error("this daemon does not answer itself; systemd ends it if that lasts", "error", err, "after", s.within)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// alive asks the daemon over its own port whether the process answers, whatever its database does. One that is about to leave
// is waited for: it has a bound of its own.
func (d *Daemon) alive(ctx context.Context) error {
	if d.life.leaving.Load() {
		return nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.URL()+"/healthz", nil)
	if err != nil {
		return err
	}
	own := &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // G402: by loopback to itself, with nothing secret; the certificate is for a name
	resp, err := (&http.Client{Transport: own}).Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("GET /healthz: %s", resp.Status)
	}
	return nil
}

// supervised tells the supervisor that d serves, and that it lives until end is called.
func (s supervisor) supervised(d *Daemon) (end func()) {
	s.tell("READY=1\nSTATUS=serving at " + d.URL())
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); s.watch(ctx, d.alive, s.tell) }()
	return func() { cancel(); <-done }
}
