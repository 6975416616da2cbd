package job

import (
	"strings"
	"testing"

	"github.com/divvyhq/divvy/shares"
)

func TestFitsByLocality(t *testing.T) {
	q := shares.Queue{Name: "cern", State: shares.Online, Locations: []string{"EOS"}}
	for _, c := range []struct {
		locality  string
		locations []string
		fits      bool
	}{
		{LocalityRequired, []string{"EOS", "RAL"}, true},
		{LocalityRequired, []string{"cern"}, true},
		{LocalityRequired, []string{"RAL", "eos"}, false},
		{LocalityPreferred, []string{"RAL"}, true},
	} {
		reason := Fits(Requirements{Cores: 1, Locations: c.locations, Locality: c.locality}, q, nil)
		if (reason == "") != c.fits || !c.fits && reason != "locality: inputs are at RAL, eos, the queue is near cern, EOS" {
			t.Errorf("%s %v: %q", c.locality, c.locations, reason)
		}
	}
}

func TestFitsInTest(t *testing.T) {
	q := shares.Queue{Name: "new-site", State: shares.Test, Labels: map[string]string{"stage": "test"}}
	for selector, fits := range map[string]bool{"new-site": true, "stage=test": true, "new-*": false, "!stage=old": false, "": false} {
		r := Requirements{Cores: 1}
		if selector != "" {
			r.Queues = []string{selector}
		}
		if reason := Fits(r, q, q.Labels); (reason == "") != fits || !fits && !strings.Contains(reason, "in test") {
			t.Errorf("selector %q: %q", selector, reason)
		}
	}
}
