package serve

import (
	"context"
	"crypto/rand"
	"net"
	"os"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/config"
	"github.com/divvyhq/divvy/dispatcher/link"
	"github.com/divvyhq/divvy/internal/build"
	"github.com/divvyhq/divvy/internal/relay"
)

// company is the ways between this daemon and the others on its database.
type company struct {
	member *link.Member
	links  *link.Links
	leave  chan struct{} // closed: other daemons are served no more
}

// openLinks makes this daemon known to the others on its database, and prepares the ways to them.
func (d *Daemon) openLinks(ctx context.Context) (err error) {
	trust := d.cfg.Access.TLS.FreshTrust()
	trust.Log = d.part("relay")
	if err := trust.First(); err != nil {
		return err
	}
	secret := rand.Text()
	d.watch.hide(secret)
	d.company.member, err = link.Join(ctx, link.Joining{DB: d.pool, Address: advertised(d.cfg, d.Addr()), Secret: secret, Version: build.Version(), Log: d.part("relay")})
	if err != nil {
		return err
	}
	d.life.onStop("membership", 5*time.Second, d.company.member.Leave)
	d.company.links = link.New(link.Config{Self: d.company.member.Self(), Peers: d.company.member.Peers, SecretOf: d.company.member.SecretOf, Trust: trust.Get, Log: d.part("relay")})
	d.company.leave = make(chan struct{})
	d.life.onStop("relay", time.Second, func(context.Context) error { close(d.company.leave); return nil })
	return nil
}

// advertised is where other daemons reach this one.
func advertised(cfg config.Config, addr string) string {
	scheme := ""
	if cfg.Access.TLS.Cert != "" {
		scheme = relay.Secure
	}
	if cfg.Advertise != "" {
		return scheme + cfg.Advertise
	}
	host, port, _ := net.SplitHostPort(addr)
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		name, err := os.Hostname()
		if err != nil {
			return "" // no other host reaches it
		}
		host = name
	}
	return scheme + net.JoinHostPort(host, port)
}
