package steer

import (
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/wire"
)

// A file that this divvy would refuse is shown all the same, behind what is wrong with it.
func TestShowUnreadableVersion(t *testing.T) {
	v := wire.SiteVersion{Source: "shares: 5", Unreadable: "version-1.yml:1:9: expected a list\nversion-1.yml: no queues"}
	v.Version, v.AppliedAt, v.AppliedBy, v.Note = 1, time.Date(2026, 11, 23, 3, 4, 5, 0, time.UTC), "ann", "first"
	var b strings.Builder
	writeVersion(&b, v)
	const want = `# version 1, applied 2026-11-23 03:04:05 by ann: first
# this divvy does not read it: version-1.yml:1:9: expected a list
# this divvy does not read it: version-1.yml: no queues
shares: 5
`
	if b.String() != want {
		t.Errorf("%s\nwant %s", b.String(), want)
	}
}
