package sim

import (
	"strings"
	"testing"

	"github.com/divvyhq/divvy/dispatcher/entry"
)

// unmade are the kinds of entries that no history has: what generators expect, targets, reports of licence servers, queues that fail all, reclaims,
// and pilots with another TTL.
const unmade = "xbrHOl"

// Histories have entries of all kinds but those.
func TestKindsOfEntries(t *testing.T) {
	t.Parallel()
	made := [256]int{}
	w := sound()
	w.Replays, w.Seen = false, func(e entry.Entry) { made[entry.KindOf(e)]++ }
	for seed := range uint64(100) {
		Run(Draw(seed), w, nil)
	}
	for seed := range uint64(2) {
		Run(parted(seed), w, nil)
	}
	for kind := range 256 {
		is := entry.Kind(kind) == entry.KindGranted || entry.Kind(kind) == entry.KindStarted || entry.Kind(kind) == entry.KindEnded
		if e, _ := entry.Decode(entry.Kind(kind), "{}"); e == nil && !is {
			continue
		}
		if missing := strings.IndexByte(unmade, byte(kind)) >= 0; missing != (made[kind] == 0) {
			t.Errorf("entries of kind %c are made %d times; kinds that are not made are %s", kind, made[kind], unmade)
		}
	}
}
