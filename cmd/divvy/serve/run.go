package serve

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/divvyhq/divvy/cmd/divvy/config"
)

// Run serves until ctx ends, or the daemon cannot go on. What happens is logged to w.
func Run(ctx context.Context, w io.Writer, cfg config.Config) error {
	d := NewLogging(cfg, w)
	log := d.log
	systemd := supervisorOf(log)
	quit := tellOnHangup(ctx, log)
	defer quit()
	if err := d.Start(ctx); err != nil {
		return err
	}
	defer systemd.supervised(d)()
	var failure error
	select {
	case <-ctx.Done():
		log.Info("stopping: no new grants; what is in flight is answered")
	case failure = <-d.Failed():
		log.Error("stopping: the daemon cannot go on", "error", failure)
	}
	systemd.tell("STOPPING=1")
	if err := d.Stop(context.WithoutCancel(ctx)); err != nil && failure == nil {
		failure = err
	}
	log.Info("stopped")
	return failure
}

// tellOnHangup answers SIGHUP, which many daemons take as "read your files again", with what to do here.
func tellOnHangup(ctx context.Context, log *slog.Logger) (quit func()) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangup:
				log.Warn("SIGHUP: nothing was read or applied. A site file takes effect by 'divvy apply -f FILE' only; log levels by 'divvy log level'; another configuration needs a restart")
			}
		}
	}()
	return func() { signal.Stop(hangup); cancel() }
}
