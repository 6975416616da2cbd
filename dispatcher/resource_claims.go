package dispatcher

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/shares"
)

// chargedClaim is a claim that holds units.
type chargedClaim struct {
	ID       int64
	TaskID   int64
	Key      string
	ChargeID int32
	ShareID  shares.ShareID
	Ref      string
	Units    int64
	Queue    string
	Node     string
	Sharers  int
}

// addClaims names the claims that hold units of resources.
func (d *Dispatcher) addClaims(ctx context.Context, list []ResourceStanding) error {
	at, refs := map[[2]string]*ResourceStanding{}, []string{}
	for i := range list {
		st := &list[i]
		at[[2]string{st.Name, st.Queue}] = st
		refs = append(refs, st.Name)
	}
	claims, err := collect[chargedClaim](ctx, d.cfg.Pool, "charged_claims", pgx.StrictNamedArgs{"refs": refs, "n": mostShown})
	if err != nil || len(claims) == 0 {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range claims {
		st := at[[2]string{c.Ref, c.Queue}]
		if st == nil {
			st = at[[2]string{c.Ref, ""}]
		}
		if st != nil {
			st.Claims = append(st.Claims, ResourceClaim{ID: c.ID, Task: c.TaskID, Key: c.Key, SharingID: d.state.claimID(c), Units: c.Units,
				Queue: c.Queue, Node: c.Node, Sharers: c.Sharers})
		}
	}
	return nil
}

// claimID is whom the units of a claim are counted for; empty while this daemon has not heard of it.
func (s *state) claimID(c chargedClaim) string {
	sh, of := s.shapes[c.ChargeID], shares.Resource{}
	if sh == nil {
		return ""
	}
	if r, ok := s.version.Resource(c.Ref); ok {
		of = r
	}
	return s.sharingID(&of, sh, c.ShareID)
}

// heldByClaims are the units of a supply that claims hold, by sharing ID.
func (s *state) heldByClaims(sup *supply) map[string]int64 {
	held := map[string]int64{}
	for _, of := range s.held {
		for key, h := range of {
			sh := s.shapes[key.shape]
			if sh == nil || !sh.need.Charges() || h.jobs == 0 || sup.queue != nil && key.queue != sup.key.queue {
				continue
			}
			for i := range sh.holds {
				if a := &sh.holds[i]; a.ref == sup.key.ref {
					held[s.sharingID(sup.of, sh, key.share)] += h.jobs * a.units
				}
			}
		}
	}
	return held
}
