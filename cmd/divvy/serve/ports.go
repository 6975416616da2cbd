package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/internal/keys"
)

// ports are where a daemon listens.
type ports struct {
	api   net.Listener
	panda net.Listener // nil: PanDA's API is beside the native one
	pprof net.Listener
}

// openPorts takes the ports before anything runs: a port in use is the first thing to be said, and whoever connects
// during a long migration waits for its end.
func (d *Daemon) openPorts(context.Context) (err error) {
	if d.ports.api, err = net.Listen("tcp", d.cfg.Listen); err != nil {
		return fail.Hintf(err, "Is another daemon running? Use --listen 127.0.0.1:0 for any free port.")
	}
	plain := d.ports.api
	d.life.onStop("listener", time.Second, func(context.Context) error { return ignoreClosed(plain.Close()) })
	d.ports.api, err = withTLS("listen", plain, keys.TLSFiles{Name: "the HTTP API", Cert: d.cfg.Access.TLS.Cert, Key: d.cfg.Access.TLS.Key, ClientCA: d.cfg.Access.TLS.ClientCA, Log: d.log})
	if err != nil {
		return err
	}
	if err := d.listenPanda(); err != nil {
		return err
	}
	if d.cfg.Pprof == "" {
		return nil
	}
	if d.ports.pprof, err = net.Listen("tcp", d.cfg.Pprof); err != nil {
		return fmt.Errorf("pprof: %w", err)
	}
	d.life.onStop("pprof listener", time.Second, func(context.Context) error { return ignoreClosed(d.ports.pprof.Close()) })
	return nil
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// urlOf is a listener's address for a client on this host.
func urlOf(tls bool, addr net.Addr) string {
	scheme := "http"
	if tls {
		scheme = "https"
	}
	host, port, _ := net.SplitHostPort(addr.String())
	if ip := net.ParseIP(host); ip == nil || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}
