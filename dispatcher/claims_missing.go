package dispatcher

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/internal/pg"
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

// found are the claims whose templates the site has now, by template, each with its payer.
func (s *state) found() map[string]map[int64]claimPayer {
	if len(s.claims.missing) == 0 {
		return nil
	}
	found := map[string]map[int64]claimPayer{}
	for _, t := range s.version.ClaimTemplates {
		of := map[int64]claimPayer{}
		for id := range s.claims.missing {
			if c := s.claims.by[id]; c.Template.Name == t.Name {
				of[id] = claimPayer{}
				if c.payer != nil {
					of[id] = *c.payer
				}
			}
		}
		found[t.Name] = of
	}
	return found
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

func (d *Dispatcher) fillTemplate(ctx context.Context, t shares.ClaimTemplate, of map[int64]claimPayer) (n int, err error) {
	text, err := json.Marshal(rowTemplate(t))
	if err != nil {
		return 0, err
	}
	ids := slices.Sorted(maps.Keys(of))
	err = pg.InTx(ctx, d.cfg.Pool, func(tx pgx.Tx) error {
		charges, costs := make([]int32, len(ids)), charger{tx: tx}
		for i, id := range ids {
			if charges[i], err = costs.shape(ctx, t, of[id]); err != nil {
				return err
			}
		}
		tag, err := tx.Exec(ctx, query["fill_template"], pgx.StrictNamedArgs{"ids": ids, "charges": charges, "name": t.Name, "template": string(text),
			"linger_s": lingerOf(t).Seconds()})
		n = int(tag.RowsAffected())
		return err
	})
	return n, err
}
