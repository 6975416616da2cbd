package serve

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/internal/ownca"
)

// A daemon answers itself by TLS too, whatever name its certificate is for, and no longer when its port is closed.
func TestAlive(t *testing.T) {
	t.Parallel()
	d, _ := startDaemon(t, func(c *config.Config) {
		c.Access.TLS.Cert, c.Access.TLS.Key = ownca.New(t, "hosts").Issue(t, time.Now().Add(time.Hour), ownca.Person("elsewhere")...)
	})
	if err := d.alive(t.Context()); err != nil || !strings.HasPrefix(d.URL(), "https://") {
		t.Errorf("%s: %v", d.URL(), err)
	}
	gone := &Daemon{ports: ports{api: closedListener(t)}}
	if err := gone.alive(t.Context()); err == nil {
		t.Error("a closed port is alive")
	}
	gone.life.leaving.Store(true)
	if err := gone.alive(t.Context()); err != nil {
		t.Errorf("while it leaves: %v", err)
	}
}

func closedListener(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	return l
}

// Nothing is said of a daemon that does not answer itself; when it does again, it is.
func TestWatchdog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hangs atomic.Bool
		var beats atomic.Int32
		s := supervisor{socket: "unused", within: 30 * time.Second, log: slog.New(slog.NewTextHandler(io.Discard, nil))}
		ctx, cancel := context.WithCancel(t.Context())
		alive := func(ctx context.Context) error {
			if hangs.Load() {
				<-ctx.Done()
				return errors.New("no answer")
			}
			return nil
		}
		go s.watch(ctx, alive, func(string) { beats.Add(1) })
		for _, c := range []struct {
			hangs bool
			beats int32
		}{{false, 6}, {true, 0}, {false, 6}} {
			hangs.Store(c.hangs)
			beats.Store(0)
			time.Sleep(61 * time.Second)
			synctest.Wait()
			if n := beats.Load(); n < c.beats || n > c.beats+1 {
				t.Errorf("hangs %v: %d beats in a minute, want %d", c.hangs, n, c.beats)
			}
		}
		cancel()
		synctest.Wait()
	})
}

// The watchdog of another process is not ours; what systemd said is for no child.
func TestSupervisorOf(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "/run/x")
	t.Setenv("WATCHDOG_USEC", "5000000")
	t.Setenv("WATCHDOG_PID", "1")
	if s := supervisorOf(nil); s.socket != "/run/x" || s.within != 0 {
		t.Errorf("%+v", s)
	}
	if s := supervisorOf(nil); s.socket != "" {
		t.Errorf("a second look: %+v", s)
	}
	for usec, want := range map[string]time.Duration{"5000000": 5 * time.Second, "-1": 0, "soon": 0} {
		t.Setenv("WATCHDOG_USEC", usec)
		if s := supervisorOf(nil); s.within != want {
			t.Errorf("%s: %s", usec, s.within)
		}
	}
}
