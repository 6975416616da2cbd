package dispatcher

import (
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/shares"
)

// Who shares a claim that was bound a moment ago gets a slot of its node at once, whatever its shape still asks for: there
// are no such devices, or units, beside those that the claim has. Nobody tends the claims but for the pulls.
func TestSharersOfAClaimThatWasJustBound(t *testing.T) {
	for name, template := range map[string]shares.ClaimTemplate{
		"devices": {Name: "cards", Devices: map[string]int{"gpu": 4}, Linger: time.Minute},
		"units":   {Name: "cards", Resources: map[string]int64{"gpu": 4}, Linger: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			f := gpuSite(t, 4)
			d := f.daemon()
			f.enqueueLayout("A", resource.Layout{Replicas: 1, Roles: []resource.Role{{Name: "r", Count: 5}},
				Sharing: []resource.Sharing{{Template: "cards", Scope: resource.All}}, Templates: []shares.ClaimTemplate{template}})
			req := slotAt("q", "n1", gpus(4)...)
			pullAt(t, d, req)
			req.WaitS = 0
			for i := range 4 {
				if _, err := d.Pull(t.Context(), req); err != nil {
					t.Fatalf("pull %d: %v", i+2, err)
				}
			}
			f.recountClaims()
			f.recount()
		})
	}
}

// A claim of units alone is at no node, wherever the first of its jobs runs.
func TestClaimOfUnitsIsNowhere(t *testing.T) {
	f := gpuSite(t, 4)
	d := f.daemon()
	f.tending(d)
	f.enqueueLayout("A", resource.Layout{Replicas: 1, Roles: []resource.Role{{Name: "r", Count: 2}},
		Sharing:   []resource.Sharing{{Template: "seats", Scope: resource.All}},
		Templates: []shares.ClaimTemplate{{Name: "seats", Resources: map[string]int64{"gpu": 4}, Linger: time.Minute}}})
	pullAt(t, d, slotAt("q", "n1"))
	pullAt(t, d, slotAt("q", "n2"))
	list, err := d.Claims(t.Context(), ClaimFilter{})
	if err != nil || len(list) != 1 || list[0].Sharers != 2 || list[0].Node != "" {
		t.Errorf("%+v %v, want one claim with two sharers and no node", list, err)
	}
	f.recountClaims()
}
