package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/keys"
	"github.com/divvyhq/divvy/internal/relay"
)

// lead is who decides: the eldest daemon that this one reaches, or this one.
type lead struct {
	secret  string
	trust   *keys.Fresh[*tls.Config]   // what the other daemons' certificates must be
	conn    atomic.Pointer[relay.Conn] // to the daemon that decides; nil: this one does
	leaving chan struct{}              // closed when this daemon does not decide for others any more
	leave   sync.Once
	broke   chan struct{} // a connection has ended

	mu     sync.Mutex
	id     int64               // of the daemon at the other end of conn
	site   <-chan struct{}     // the site has changed
	looked time.Time           // when the ledger was read last; only refresh looks
	tried  map[int64]time.Time // when a daemon that could not be reached was tried last; only the step looks
}

const (
	dialWithin = time.Second
	dialPause  = 2 * time.Second
)

func (d *daemon) openRelay(context.Context) error {
	d.lead.trust = d.cfg.freshTrust()
	d.lead.trust.Log = d.part("relay")
	if err := d.lead.trust.First(); err != nil {
		return err
	}
	d.lead.secret = rand.Text()
	if d.lines != nil {
		d.lines.Hide(d.lead.secret)
	}
	d.lead.leaving, d.lead.broke, d.lead.tried = make(chan struct{}), make(chan struct{}, 1), map[int64]time.Time{}
	d.lead.site = d.wakes.on("site")
	d.onStop("relay", time.Second, func(context.Context) error { d.leaveRelay(); return nil })
	return nil
}

// trust is what certificates of other daemons must be, as daemons and divvy doctor ask for it.
func (c config) trust() (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.TLSPeerName}
	if c.TLSCA == "" {
		return t, nil
	}
	var err error
	if t.RootCAs, err = keys.ReadCAs(c.TLSCA); err != nil {
		return nil, fmt.Errorf("tls_ca: %w", err)
	}
	return t, nil
}

// freshTrust is trust that follows the files of tls_ca.
func (c config) freshTrust() *keys.Fresh[*tls.Config] {
	return &keys.Fresh[*tls.Config]{Name: "tls_ca", Read: c.trust, Files: func() []string { return keys.FilesOf(c.TLSCA) }}
}

// leaveRelay ends the connections: daemons that hand on to this one serve what they have handed on themselves, or find
// another one that decides, and so does this one with what it has handed on.
func (d *daemon) leaveRelay() {
	d.lead.leave.Do(func() { close(d.lead.leaving) })
	d.handOnTo(dispatcher.Peer{}, nil)
}

// advertised is where other daemons reach this one.
func (d *daemon) advertised() string {
	scheme := pick(d.cfg.TLSCert != "", relay.Secure, "")
	if d.cfg.Advertise != "" {
		return scheme + d.cfg.Advertise
	}
	host, port, _ := net.SplitHostPort(d.Addr())
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		name, err := os.Hostname()
		if err != nil {
			return "" // it decides for itself, and nobody hands on to it
		}
		host = name
	}
	return scheme + net.JoinHostPort(host, port)
}

// findLead is the first followLead. That none can be reached is no reason not to start.
func (d *daemon) findLead(ctx context.Context) error {
	_, err := d.followLead(ctx)
	return err
}

// followLead keeps the connection to the eldest daemon that can be reached.
func (d *daemon) followLead(ctx context.Context) (int, error) {
	l := &d.lead
	l.mu.Lock()
	conn, id := l.conn.Load(), l.id
	l.mu.Unlock()
	if conn != nil {
		select {
		case <-conn.Broken():
			d.part("relay").Warn("the daemon that decides has gone", "daemon", id)
			d.handOnTo(dispatcher.Peer{}, nil)
			conn = nil
			if _, err := d.dispatcher.Refresh(ctx); err != nil { // what it has granted, as this one may decide now
				return 0, err
			}
		default:
		}
	}
	var elders []dispatcher.Peer
	for _, p := range livePeers(d.dispatcher.Seniors(), d.dispatcher.Self().Address) {
		if conn != nil && p.ID == id {
			conn = nil // it is the way already, if none of its elders is
			break
		}
		if time.Since(l.tried[p.ID]) >= dialPause {
			elders = append(elders, p)
		}
	}
	if p, to := d.dialEldest(ctx, elders); to != nil {
		d.handOnTo(p, to)
		d.part("relay").Info("pulls are handed on to the daemon that decides", "daemon", p.ID, "address", p.Address)
		return 1, nil
	}
	if conn != nil { // it was taken for dead, and decides nothing
		d.handOnTo(dispatcher.Peer{}, nil)
	}
	return 0, nil
}

// livePeers leaves out those that others have followed at their addresses, this one at its own: they were killed, and are not taken
// for dead yet. At such an address nobody may answer for a while, since who follows looks for its elders before it serves.
func livePeers(all []dispatcher.Peer, own string) (live []dispatcher.Peer) {
	last := map[string]int64{}
	for _, p := range all {
		last[p.Address] = max(last[p.Address], p.ID)
	}
	for _, p := range all {
		if p.Address != own && p.ID == last[p.Address] {
			live = append(live, p)
		}
	}
	return live
}

// dialEldest is the connection to the first of them that can be reached; nil if none can. All are called at once, so that those
// that say nothing hold up the start of a daemon once and not one by one.
func (d *daemon) dialEldest(ctx context.Context, elders []dispatcher.Peer) (eldest dispatcher.Peer, conn *relay.Conn) {
	l, self := &d.lead, d.dispatcher.Self()
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	conns, errs := make([]*relay.Conn, len(elders)), make([]error, len(elders))
	var calls sync.WaitGroup
	for i, p := range elders {
		calls.Go(func() {
			conns[i], errs[i] = relay.Dial(ctx, relay.Callee{Address: p.Address, Secret: p.Secret, Trust: l.trust.Get()},
				relay.Caller{ID: self.ID, Secret: self.Secret})
		})
	}
	calls.Wait()
	for i, p := range elders {
		switch {
		case errs[i] != nil:
			if l.tried[p.ID].IsZero() {
				d.part("relay").Warn("an elder daemon cannot be reached: without it shares are followed less exactly (docs/operations.md)",
					"daemon", p.ID, "address", p.Address, "error", errs[i])
			}
			l.tried[p.ID] = time.Now()
		case conn != nil:
			conns[i].Close()
		default:
			delete(l.tried, p.ID)
			eldest, conn = p, conns[i]
		}
	}
	return eldest, conn
}

// idleLook is how often a daemon that hands on reads what the one that decides has written: reports of it want that, and
// it decides itself when that one goes.
const idleLook = time.Second

// refresh is the dispatcher's, at once for a daemon that decides, and when the site has changed.
func (d *daemon) refresh(ctx context.Context) (int, error) {
	if conn := d.lead.conn.Load(); conn != nil && time.Since(d.lead.looked) < idleLook {
		select {
		case <-conn.Broken():
		case <-d.lead.site:
		default:
			return 0, nil
		}
	}
	d.lead.looked = time.Now()
	return d.dispatcher.Refresh(ctx)
}

// handOnTo makes conn the way to the daemon that decides. Pulls that wait here follow.
func (d *daemon) handOnTo(p dispatcher.Peer, conn *relay.Conn) {
	d.lead.mu.Lock()
	defer d.lead.mu.Unlock()
	select {
	case <-d.lead.leaving:
		if conn != nil {
			conn.Close()
			conn = nil
		}
	default:
	}
	d.lead.id = p.ID
	if old := d.lead.conn.Swap(conn); old != nil {
		old.Close()
	}
	if conn == nil {
		return
	}
	d.dispatcher.HandOn()
	go func() {
		<-conn.Broken()
		select {
		case d.lead.broke <- struct{}{}:
		default:
		}
	}()
}
