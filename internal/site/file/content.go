package file

import (
	"slices"

	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/retry"
	"github.com/divvyhq/divvy/shares/tagging"
)

// Content is what a checked site file says.
type Content struct {
	Source    string // the file as it was written
	Tree      *shares.Tree
	Queues    []shares.Queue // in file order
	Rules     []tagging.Rule
	OnNoMatch string // reject, hold or the path of a leaf
	Tags      *tagging.Table

	Resources      []shares.Resource // in file order, with what was set beside the file when it was loaded
	ClaimTemplates []shares.ClaimTemplate
	Attempts       *retry.Policy // retry_rules, exit_codes and attempts
	Limits         []Limit       // in file order
	Webhooks       []Webhook     // in file order

	Was      map[string]string   // path → the path that the share had before, as the file says
	QueueWas map[string]string   // the same of the names of queues
	Pilots   map[string][]string // queue → who may pull there; absent = every pilot
	Notes    []string            // what is allowed but may be a slip
}

// Queue finds a queue by name.
func (s *Content) Queue(name string) (shares.Queue, bool) {
	i := slices.IndexFunc(s.Queues, func(q shares.Queue) bool { return q.Name == name })
	if i < 0 {
		return shares.Queue{}, false
	}
	return s.Queues[i], true
}

// Leaf says whether path is a share that may hold jobs.
func (s *Content) Leaf(path string) bool {
	i, ok := s.Tree.ByPath(path)
	return ok && s.Tree.Leaf(i)
}

// What on_no_match may say besides a share.
const (
	Reject = "reject"
	Hold   = "hold"
)
