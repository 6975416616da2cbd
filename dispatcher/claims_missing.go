package dispatcher

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// lack notes whether a claim waits for a template of the site.
func (cs *claims) lack(c *liveClaim) {
	if c.Missing && !c.External && c.State == resource.ClaimPending {
		cs.missing[c.id] = true
	} else {
		delete(cs.missing, c.id)
	}
}

// found are the claims whose templates the site has now, by template.
func (s *state) found() map[string][]int64 {
	if len(s.claims.missing) == 0 {
		return nil
	}
	ids := map[string][]int64{}
	for _, t := range s.version.ClaimTemplates {
		for id := range s.claims.missing {
			if s.claims.by[id].Template.Name == t.Name {
				ids[t.Name] = append(ids[t.Name], id)
			}
		}
	}
	return ids
}

// fillTemplates gives claims that wait for a template of the site the one that it has now, so that their jobs are placed.
// Claims that have one keep it, whatever becomes of the site's.
func (d *Dispatcher) fillTemplates(ctx context.Context) (n int, err error) {
	d.mu.Lock()
	found, templates := d.state.found(), d.state.version.ClaimTemplates
	d.mu.Unlock()
	for _, t := range templates {
		if len(found[t.Name]) == 0 {
			continue
		}
		filled, err := d.fillTemplate(ctx, t, found[t.Name])
		if err != nil {
			return n, fmt.Errorf("claim template %s: %w", t.Name, err)
		}
		n += filled
	}
	return n, nil
}

func (d *Dispatcher) fillTemplate(ctx context.Context, t shares.ClaimTemplate, ids []int64) (int, error) {
	text, err := json.Marshal(claimTemplate{Name: t.Name, Node: t.Node, Devices: t.Devices})
	if err != nil {
		return 0, err
	}
	tag, err := d.cfg.Pool.Exec(ctx, query["fill_template"], pgx.StrictNamedArgs{"ids": ids, "name": t.Name, "template": string(text), "linger_s": t.Linger.Seconds()})
	return int(tag.RowsAffected()), err
}
