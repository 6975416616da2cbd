package site

import (
	"time"

	"github.com/divvyhq/divvy/internal/site/file"
	"github.com/divvyhq/divvy/shares"
)

// Site is a site file under the number that it was applied as. What Load and Get return carries ids and is shared between
// callers: read only.
type Site struct {
	file.Content
	Number     int64 // 0: nothing was ever applied, or not applied yet
	AppliedAt  time.Time
	AppliedBy  string
	Note       string
	RollbackOf int64 // the version that this one repeats; 0 = none
}

// Parse reads and checks a site file that is not applied yet. The error is strict.Problems.
func Parse(name string, src []byte) (*Site, error) {
	f, err := file.Parse(name, src)
	if err != nil {
		return nil, err
	}
	return &Site{Content: *f}, nil
}

// Version is the part of the site that dispatcher and simulator work on.
func (s *Site) Version() shares.Version {
	v := shares.Version{Number: s.Number, Tree: s.Tree, Queues: s.Queues, Resources: s.Resources, ClaimTemplates: s.ClaimTemplates,
		Attempts: s.Attempts}
	return v.WithIO()
}
