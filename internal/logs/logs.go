package logs

import (
	"context"
	"io"
	"log/slog"
	"slices"
)

// Config says where lines go and which.
type Config struct {
	To        io.Writer
	JSON      bool // else text
	Levels    *Levels
	PerSecond int      // lines of one message and level; 0 = all
	Secrets   []string // as for Hide
}

// Log makes loggers.
type Log struct {
	levels *Levels
	sample *sample
	hide   *secrets
	to     slog.Handler
}

// New makes one.
func New(c Config) *Log {
	l := &Log{levels: c.Levels, sample: newSample(c.PerSecond), hide: &secrets{}}
	for _, s := range c.Secrets {
		l.hide.add(s)
	}
	opts := &slog.HandlerOptions{Level: slog.Level(-100), ReplaceAttr: l.hide.replace} // Levels has decided before
	l.to = slog.Handler(slog.NewTextHandler(c.To, opts))
	if c.JSON {
		l.to = slog.NewJSONHandler(c.To, opts)
	}
	return l
}

// Logger is a logger on all of it. With("part", name) makes one of a part.
func (l *Log) Logger() *slog.Logger { return slog.New(&handler{log: l, to: l.to}) }

// Levels are those of the log.
func (l *Log) Levels() *Levels { return l.levels }

// Hide has a secret replaced wherever it stands in a line; one of less than six characters is not.
func (l *Log) Hide(secret string) { l.hide.add(secret) }

// Flush says how many lines were left out in seconds that are over. It returns how many that were.
func (l *Log) Flush(ctx context.Context) (n int, err error) {
	for _, left := range l.sample.over(l.levels.clock()) {
		n += left.n
		r := slog.NewRecord(l.levels.clock(), left.key.level, "lines were left out: there were too many alike in a second", 0)
		r.AddAttrs(slog.String("message", left.key.message), slog.Int("left_out", left.n))
		if e := l.to.Handle(ctx, r); e != nil {
			err = e
		}
	}
	return n, err
}

// handler is a slog.Handler in front of slog's own.
type handler struct {
	log    *Log
	to     slog.Handler
	part   string
	nested bool // within a group, where "part" is another word
}

// Enabled is part of slog.Handler.
func (h *handler) Enabled(_ context.Context, level slog.Level) bool {
	return h.log.levels.wants(h.part, level)
}

// Handle is part of slog.Handler.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if !h.log.sample.take(r.Time, sampleKey{r.Message, r.Level}) {
		return nil
	}
	return h.to.Handle(ctx, r)
}

// WithAttrs is part of slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	if i := slices.IndexFunc(attrs, func(a slog.Attr) bool { return a.Key == "part" }); i >= 0 && !h.nested {
		next.part = attrs[i].Value.String()
	}
	next.to = h.to.WithAttrs(attrs)
	return &next
}

// WithGroup is part of slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	next := *h
	next.nested = true
	next.to = h.to.WithGroup(name)
	return &next
}
