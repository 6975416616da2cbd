package harvester

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Dialog is a message of a Harvester to the site's operators.
type Dialog struct {
	ID         int64
	Module     string
	Identifier string
	Level      string
	Message    string
	At         time.Time
}

// AddDialogs keeps messages.
func (s *Store) AddDialogs(ctx context.Context, harvester string, dialogs []Dialog) error {
	var ids []int64
	var modules, identifiers, levels, messages []string
	var at []time.Time
	last := map[int64]int{}
	for i, d := range dialogs {
		last[d.ID] = i
	}
	for i, d := range dialogs {
		if last[d.ID] != i {
			continue
		}
		ids, modules, identifiers = append(ids, d.ID), append(modules, d.Module), append(identifiers, d.Identifier)
		levels, messages, at = append(levels, d.Level), append(messages, d.Message), append(at, d.At)
	}
	return s.exec(ctx, "add_dialogs", pgx.StrictNamedArgs{"harvester": harvester, "ids": ids, "modules": modules,
		"identifiers": identifiers, "levels": levels, "messages": messages, "at": at})
}

// Metrics is how a Harvester's host was.
type Metrics struct {
	Host    string
	At      time.Time
	Figures map[string]any
}

// AddMetrics keeps figures of hosts.
func (s *Store) AddMetrics(ctx context.Context, harvester string, all []Metrics) error {
	var hosts []string
	var at []time.Time
	var figures []map[string]any
	for _, m := range all {
		hosts, at, figures = append(hosts, m.Host), append(at, m.At), append(figures, m.Figures)
	}
	return s.exec(ctx, "add_metrics", pgx.StrictNamedArgs{"harvester": harvester, "hosts": hosts, "at": at, "figures": figures})
}
