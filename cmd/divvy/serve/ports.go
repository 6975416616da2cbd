package serve

import (
	"context"
	"crypto/tls"
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
	c, tls := d.cfg, d.cfg.Access.TLS
	files := keys.TLSFiles{Name: "the HTTP API", Cert: tls.Cert, Key: tls.Key, ClientCA: tls.ClientCA, Log: d.log}
	d.ports.api, err = d.life.listen("listen", c.Listen, files)
	if taken := (*net.OpError)(nil); errors.As(err, &taken) {
		return fail.Hintf(taken, "Is another daemon running? Use --listen 127.0.0.1:0 for any free port.")
	} else if err != nil {
		return err
	}
	if c.Panda.Listen != "" {
		files.Name = "PanDA's API"
		d.ports.panda, err = d.life.listen("panda_listen", c.Panda.Listen, files)
	}
	if err == nil && c.Pprof != "" {
		d.ports.pprof, err = d.life.listen("pprof", c.Pprof, keys.TLSFiles{})
	}
	return err
}

// listen takes a port until the end, with TLS where there is a certificate.
func (l *lifetime) listen(key, addr string, files keys.TLSFiles) (net.Listener, error) {
	port, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	l.onStop(key, time.Second, func(context.Context) error { return ignoreClosed(port.Close()) })
	if files.Cert == "" {
		return port, nil
	}
	secure, err := files.Config()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return tls.NewListener(port, secure), nil
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
