package link

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/divvyhq/divvy/dispatcher/lease"
	"github.com/divvyhq/divvy/internal/relay"
)

// Peer is a daemon on the same database.
type Peer struct {
	ID      int64
	Address string // host:port; empty: it cannot be reached
	Secret  string // to be said there
}

// Config is what Links need.
type Config struct {
	Self     Peer
	Peers    func(ctx context.Context) ([]Peer, error)                      // the daemons that are open, by the database; this one may be among them
	SecretOf func(ctx context.Context, id int64) (secret string, err error) // of an open daemon; "": there is none
	Trust    func() *tls.Config                                             // see relay.Callee; nil: no TLS
	Log      *slog.Logger
}

// Daemon is the dispatcher of this daemon.
type Daemon interface {
	Receive(from int64, m lease.Message)
	Reach(daemons []int64) // which others can be reached
}

// Links carry messages between daemons by package relay: to each peer one envelope at a time, with all that has gathered meanwhile. What is sent
// while there is no connection is lost, which package lease is made for.
type Links struct {
	cfg    Config
	sheets sheets

	mu        sync.Mutex
	to        Daemon // nil: nothing is received yet
	links     map[int64]*link
	backs     map[int64]*back // to those that reach this daemon
	questions relay.Handler   // of others; nil: none is answered yet
	asked     map[uint64]chan relay.Reply
	lastAsked uint64
	met       bool // the database was asked for peers
	alone     bool // it had none
}

// link is the way to one peer.
type link struct {
	peer  Peer
	stop  context.CancelFunc
	rouse chan struct{} // one place: there are messages
	conn  *relay.Conn   // nil: there is none
	queue []lease.Message
}

// Times of links, and how many messages wait for an envelope at the most.
const (
	lookEvery  = time.Second
	dialWithin = 2 * time.Second
	mostWait   = 1 << 14
	leasePath  = "/lease"
)

// New prepares links. Give their Send to the Config of a Dispatcher, and run them with it.
func New(cfg Config) *Links {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Trust == nil {
		cfg.Trust = func() *tls.Config { return nil }
	}
	return &Links{cfg: cfg, links: map[int64]*link{}, backs: map[int64]*back{}, asked: map[uint64]chan relay.Reply{}}
}

// Send is Config.Send.
func (ls *Links) Send(to int64, m lease.Message) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	var queue *[]lease.Message
	var rouse chan struct{}
	if l := ls.links[to]; l != nil && l.conn != nil {
		queue, rouse = &l.queue, l.rouse
	} else if b := ls.backs[to]; b != nil {
		queue, rouse = &b.queue, b.rouse
	}
	if queue == nil || len(*queue) >= mostWait {
		return
	}
	*queue = append(*queue, m)
	wake(rouse)
}

// wake puts a value into a channel of one place.
func wake(rouse chan<- struct{}) {
	select {
	case rouse <- struct{}{}:
	default:
	}
}

// Alone says that no other daemon is open, by the last look at the database. One at the address of this daemon is an earlier start of it.
func (ls *Links) Alone() bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.alone
}

// Handler takes connections of other daemons, at relay.Path, until done is closed. What they Ask is for questions.
func (ls *Links) Handler(done <-chan struct{}, questions relay.Handler) http.Handler {
	ls.mu.Lock()
	ls.questions = questions
	ls.mu.Unlock()
	handle := func(ctx context.Context, path string, body []byte) relay.Reply {
		switch {
		case path == toldPath:
			return ls.told(body)
		case path != leasePath && path != backPath:
			return questions(ctx, path, body)
		case !ls.ready():
			return relay.Reply{Status: http.StatusServiceUnavailable}
		case path == backPath:
			return ls.giveBack(ctx, body)
		}
		return relay.Reply{Status: ls.deliver(body, true)}
	}
	return &relay.Server{Secret: ls.cfg.Self.Secret, SecretOf: ls.cfg.SecretOf, Handle: handle, Done: done}
}

// ErrApart says that there is no connection to a daemon.
var ErrApart = errors.New("no connection to the daemon")

// Ask puts a question to a peer, by whichever way there is to it. ErrApart, relay.ErrBroken, or the error of ctx: there is no answer.
func (ls *Links) Ask(ctx context.Context, to int64, path string, body []byte) (relay.Reply, error) {
	ls.mu.Lock()
	l := ls.links[to]
	var conn *relay.Conn
	if l != nil {
		conn = l.conn
	}
	ls.mu.Unlock()
	if conn == nil {
		return ls.askBack(ctx, to, path, body)
	}
	return conn.Call(ctx, path, body)
}

// Reaches says whether there is a connection to a daemon, or from it.
func (ls *Links) Reaches(id int64) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.links[id]
	return l != nil && l.conn != nil || ls.backs[id] != nil
}

// leaderEvery is how often LeaderURL looks who leads. What is old costs a pilot a hop, as what is not known does.
const leaderEvery = time.Second

// LeaderURL says where the daemon is that leads; empty: that is this one, or there is no connection to it. It may be asked for every answer.
func (ls *Links) LeaderURL(leader func() int64) func() string {
	start := time.Now()
	var looked atomic.Int64 // ns from the start; 0: not yet
	var url atomic.Pointer[string]
	url.Store(new(string))
	return func() string {
		now := int64(time.Since(start))
		if was := looked.Load(); (was == 0 || now-was >= int64(leaderEvery)) && looked.CompareAndSwap(was, now) {
			is := ls.url(leader())
			url.Store(&is)
		}
		return *url.Load()
	}
}

// url is where another daemon is that this one has a connection to; empty: nowhere.
func (ls *Links) url(id int64) string {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.links[id]
	if l == nil || l.conn == nil {
		return ""
	}
	if address, secure := strings.CutPrefix(l.peer.Address, relay.Secure); secure {
		return "https://" + address
	}
	return "http://" + l.peer.Address
}

// ready says whether there is a dispatcher that receives.
func (ls *Links) ready() bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.to != nil
}

// deliver gives an envelope to the dispatcher, and returns a status of HTTP. Came says that it came over a connection that the peer made.
func (ls *Links) deliver(body []byte, came bool) (status int) {
	from, messages, err := unpack(body)
	if errors.Is(err, errForm) {
		return http.StatusUnsupportedMediaType
	}
	if err != nil { // the log has what matters
		ls.cfg.Log.Warn("a message between daemons is not understood", "err", err)
		return http.StatusBadRequest
	}
	if came {
		ls.heardOf(from)
	}
	for _, m := range messages {
		ls.to.Receive(from, m)
	}
	return http.StatusNoContent
}

// Run keeps links to all peers until ctx ends, and tells the dispatcher which of them there are.
func (ls *Links) Run(ctx context.Context, d Daemon) {
	ls.mu.Lock()
	ls.to = d
	ls.mu.Unlock()
	var all sync.WaitGroup
	defer all.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		if peers, err := ls.cfg.Peers(ctx); err == nil {
			ls.meet(ctx, peers, &all)
		}
		ls.forget()
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// meet begins links to new peers, and ends those to daemons that are gone.
func (ls *Links) meet(ctx context.Context, peers []Peer, all *sync.WaitGroup) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	there, first := map[int64]bool{}, !ls.met
	ls.met, ls.alone = true, true
	for _, p := range peers {
		if p.ID == ls.cfg.Self.ID || p.Address != "" && p.Address == ls.cfg.Self.Address {
			continue
		}
		if ls.alone = false; p.Address == "" {
			continue
		}
		if there[p.ID] = true; ls.links[p.ID] != nil {
			continue
		}
		own, stop := context.WithCancel(ctx)
		l := &link{peer: p, stop: stop, rouse: make(chan struct{}, 1)}
		ls.links[p.ID] = l
		all.Go(func() { ls.keep(own, l) })
	}
	for id, l := range ls.links {
		if !there[id] {
			l.stop()
			delete(ls.links, id)
		}
	}
	if first {
		ls.reach() // it may be waiting to hear whether it is alone
	}
}

// keep dials a peer again and again, and sends it what there is.
func (ls *Links) keep(ctx context.Context, l *link) {
	for ctx.Err() == nil {
		within, cancel := context.WithTimeout(ctx, dialWithin)
		conn, err := relay.Dial(within, relay.Callee{Address: l.peer.Address, Secret: l.peer.Secret, Trust: ls.cfg.Trust()},
			relay.Caller{ID: ls.cfg.Self.ID, Secret: ls.cfg.Self.Secret})
		cancel()
		if err == nil {
			var back sync.WaitGroup
			back.Go(func() { ls.listen(ctx, conn) })
			ls.turn(l, conn)
			ls.carry(ctx, l, conn)
			conn.Close()
			back.Wait()
			ls.turn(l, nil)
		}
		select {
		case <-ctx.Done():
		case <-time.After(lookEvery):
		}
	}
}

// turn notes by what a peer can be reached.
func (ls *Links) turn(l *link, conn *relay.Conn) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l.conn, l.queue = conn, nil
	ls.reach()
}

// reach tells the dispatcher who can be reached. ls.mu is held: the last word is the newest.
func (ls *Links) reach() {
	there := slices.Collect(maps.Keys(ls.backs))
	for id, each := range ls.links {
		if each.conn != nil && ls.backs[id] == nil {
			there = append(there, id)
		}
	}
	slices.Sort(there)
	ls.to.Reach(there)
}

// carry sends envelopes until the connection breaks.
func (ls *Links) carry(ctx context.Context, l *link, conn *relay.Conn) {
	for compact := true; ; {
		select {
		case <-ctx.Done():
			return
		case <-conn.Broken():
			return
		case <-l.rouse:
		}
		ls.mu.Lock()
		messages := l.queue
		l.queue = nil
		ls.mu.Unlock()
		if len(messages) == 0 {
			continue
		}
		status, err := ls.send(ctx, conn, messages, compact)
		if err == nil && status == http.StatusUnsupportedMediaType && compact { // a daemon of another version
			compact = false
			_, err = ls.send(ctx, conn, messages, false)
		}
		if err != nil {
			return
		}
	}
}

// send sends one envelope.
func (ls *Links) send(ctx context.Context, conn *relay.Conn, messages []lease.Message, compact bool) (status int, err error) {
	text, err := ls.sheets.pack(ls.cfg.Self.ID, messages, compact)
	if err != nil {
		ls.cfg.Log.Error("a message between daemons cannot be written", "err", err)
		return 0, nil
	}
	within, cancel := context.WithTimeout(ctx, relay.Silence)
	defer cancel()
	r, err := conn.Call(within, leasePath, text)
	return r.Status, err
}
