package hooks

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/pg"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/internal/site/file"
)

//go:embed sql/*.sql
var files embed.FS

var query = pg.MustLoad(files)

// Config is what Hooks need.
type Config struct {
	DB       *pgxpool.Pool
	Load     func(context.Context) (*site.Site, error) // the site in force
	Leads    func() bool
	Standing func() dispatcher.Standing
	Queues   func() []dispatcher.QueueStanding
	Registry prometheus.Registerer
	Log      *slog.Logger
}

// Hooks tells receivers. Its Step is for one goroutine.
type Hooks struct {
	Config
	told    *prometheus.CounterVec
	site    int64          // whose receivers these are; 0: not looked yet
	all     []file.Webhook // of the site
	known   bool           // the table may have receivers
	starved map[string]time.Time
	noted   map[string]bool // what lasts and is in the table
	looked  time.Time       // at what lasts
	first   time.Duration   // between the first two attempts
	most    int             // messages of a receiver
	ctx     context.Context
	end     context.CancelFunc
	sending sync.WaitGroup
	mu      sync.Mutex
	busy    map[string]bool // receivers that are being told
}

// Bounds of what receivers are told.
const (
	starvesFor  = 15 * time.Minute // before it is told
	keepFor     = 24 * time.Hour
	keepMost    = 10_000 // of a receiver
	stepMost    = 1000   // tasks of a step
	lookEvery   = 10 * time.Second
	firstPause  = 5 * time.Second
	longestWait = time.Hour
)

// New makes Hooks. Stop ends what they send.
func New(c Config) *Hooks {
	h := &Hooks{Config: c, site: -1, known: true, starved: map[string]time.Time{}, noted: map[string]bool{}, first: firstPause, most: keepMost, busy: map[string]bool{}}
	h.ctx, h.end = context.WithCancel(context.Background())
	h.told = promauto.With(c.Registry).NewCounterVec(prometheus.CounterOpts{Name: "divvy_webhook_messages_total",
		Help: "Messages of webhooks by receiver and outcome: told, failed (an attempt that is repeated), dropped (given up: a day old, or more than 10,000)."}, []string{"webhook", "outcome"})
	return h
}

// Stop ends attempts; their messages are told later, by whoever leads.
func (h *Hooks) Stop() {
	h.end()
	h.sending.Wait()
}

// message is one before it has a row.
type message struct {
	event, subject, user, share string
	at                          time.Time
	data                        any
}

// key tells what lasts apart.
func (m message) key() string { return m.event + " " + m.subject }

// old says whether something has lasted long enough to be told.
func (m message) old() bool { return m.event != file.ShareStarving || time.Since(m.at) >= starvesFor }

// Step makes messages of what has happened, and has receivers told. n is how many messages it made.
func (h *Hooks) Step(ctx context.Context) (n int, err error) {
	if !h.Leads() {
		h.site = -1 // another leader may have changed what is in the table
		return 0, nil
	}
	slow := time.Since(h.looked) >= lookEvery
	if slow {
		if err := h.look(ctx); err != nil {
			return 0, err
		}
		h.looked = time.Now()
	}
	if len(h.all) == 0 {
		return 0, nil
	}
	var lasting []message
	if slow {
		lasting = h.lasting(time.Now())
	}
	err = pg.InTx(ctx, h.DB, func(tx pgx.Tx) error {
		ended, err := pg.Collect[endedRow](ctx, tx, query["ended"], pg.Args{"most": stepMost})
		if err != nil {
			return err
		}
		all := h.news(lasting)
		for _, e := range ended {
			all = append(all, e.message())
		}
		n, err = h.put(ctx, tx, all)
		return err
	})
	if err == nil && slow {
		err = h.bound(ctx, lasting)
	}
	if err != nil {
		return n, fmt.Errorf("webhooks: %w", err)
	}
	for _, w := range h.all {
		h.send(w)
	}
	return n, nil
}

// look takes up the receivers of a new site.
func (h *Hooks) look(ctx context.Context) error {
	s, err := h.Load(ctx)
	if err != nil {
		return fmt.Errorf("webhooks: site: %w", err)
	}
	if s.Number == h.site {
		return nil
	}
	names := make([]string, len(s.Webhooks))
	for i, w := range s.Webhooks {
		names[i] = w.Name
	}
	if len(names) > 0 || h.known {
		for _, name := range []string{"gone", "known"} {
			if _, err := h.DB.Exec(ctx, query[name], pg.Args{"names": names}); err != nil {
				return fmt.Errorf("webhooks: %s: %w", name, err)
			}
		}
	}
	clear(h.noted)
	h.all, h.known, h.site = s.Webhooks, len(names) > 0, s.Number
	return nil
}

// endedRow is a task that has ended.
type endedRow struct {
	Task   int64     `json:"task"`
	State  string    `json:"state"`
	At     time.Time `json:"-"`
	Name   string    `json:"name"`
	User   string    `json:"user"`
	Share  string    `json:"share,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

func (e endedRow) message() message {
	return message{file.TaskEvent + e.State, strconv.FormatInt(e.Task, 10), e.User, e.Share, e.At, e}
}

// lasting are the shares that starve, and the queues that are broken, now.
func (h *Hooks) lasting(now time.Time) (all []message) {
	before := h.starved
	h.starved = map[string]time.Time{}
	for _, p := range h.Standing().Pools {
		for _, s := range p.Shares {
			if !s.Leaf || s.Ready == 0 || s.Target < 1 || s.Held > 0 || p.Held == 0 {
				continue
			}
			subject := s.Path + " " + p.Pool
			since, ok := before[subject]
			if !ok {
				since = now
			}
			h.starved[subject] = since
			all = append(all, message{file.ShareStarving, subject, "", s.Path, since,
				map[string]any{"share": s.Path, "pool": p.Pool, "ready_jobs": s.Ready, "target": s.Target, "since": since.UTC()}})
		}
	}
	for _, q := range h.Queues() {
		if b := q.BlackHole; b != nil {
			all = append(all, message{file.QueueBroken, q.Name, "", "", b.Since, map[string]any{"queue": q.Name, "since": b.Since.UTC(), "ended": b.Ends, "failed": b.Fails}})
		}
	}
	return all
}

// news are those of what lasts that have no row yet, as far as this daemon knows, and have lasted long enough.
func (h *Hooks) news(lasting []message) (all []message) {
	for _, m := range lasting {
		if !h.noted[m.key()] && m.old() {
			all = append(all, m)
		}
	}
	return all
}

// put notes messages for those who want them.
func (h *Hooks) put(ctx context.Context, tx pgx.Tx, all []message) (n int, err error) {
	var hooks, events, subjects, bodies []string
	var ats []time.Time
	for _, m := range all {
		body, err := json.Marshal(map[string]any{"type": m.event, "timestamp": m.at.UTC(), "data": m.data})
		if err != nil {
			return 0, err
		}
		for _, w := range h.all {
			if w.Wants(m.event, m.user, m.share) {
				hooks, events, subjects, bodies, ats = append(hooks, w.Name), append(events, m.event), append(subjects, m.subject), append(bodies, string(body)), append(ats, m.at)
			}
		}
	}
	if len(hooks) == 0 {
		return 0, nil
	}
	tag, err := tx.Exec(ctx, query["put"], pg.Args{"webhooks": hooks, "events": events, "subjects": subjects, "bodies": bodies, "ats": ats})
	return int(tag.RowsAffected()), err
}

// bound forgets what has ceased, and gives up what nobody has taken for too long.
func (h *Hooks) bound(ctx context.Context, lasting []message) error {
	now := make([]string, len(lasting))
	clear(h.noted)
	for i, m := range lasting {
		now[i] = m.key()
		h.noted[m.key()] = m.old()
	}
	if _, err := h.DB.Exec(ctx, query["ceased"], pg.Args{"lasting": now}); err != nil {
		return err
	}
	type given struct {
		Webhook string
		N       int64
	}
	all, err := pg.Collect[given](ctx, h.DB, query["give_up"], pg.Args{"age_s": keepFor.Seconds(), "most": h.most})
	for _, g := range all {
		h.told.WithLabelValues(g.Webhook, "dropped").Add(float64(g.N))
		h.Log.Warn("messages to a receiver were given up: it has taken none for too long", "webhook", g.Webhook, "messages", g.N)
	}
	return err
}
