package dispatcher

import (
	"errors"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/shares"
)

// A text that the database does not take is refused before it can fail the pulls that are leased together with it.
func TestTextsThatCannotBeStored(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 3})
	good := PullRequest{Queue: "q", Pilot: "p-ü", Node: "n", Slot: Slot{Cores: 1}, RequestID: "again\x00"}
	for field, bad := range map[string]func(*PullRequest){
		"pilot":      func(r *PullRequest) { r.Pilot = "p\x00" },
		"node":       func(r *PullRequest) { r.Node = "n\xff" },
		"devices[1]": func(r *PullRequest) { r.Devices = []string{"gpu0", "gpu\x00"} },
	} {
		req := good
		bad(&req)
		_, err := d.Pull(t.Context(), req)
		var of *FieldError
		if !errors.As(err, &of) || of.Field != field || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("%s: %v", field, err)
		}
	}
	if reply, err := d.Pull(t.Context(), good); err != nil || len(reply.Leases) != 1 {
		t.Errorf("%+v, %v", reply, err)
	}
}
