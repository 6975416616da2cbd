package api

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/api/edge"
	"github.com/divvyhq/divvy/api/problem"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/internal/site/strict"
)

// quotedName is how a detail names what there is not.
var quotedName = regexp.MustCompile(`"([^"]+)"`)

// shareCalls serves the state of shares and queues.
type shareCalls struct {
	doc        *document
	names      *names
	dispatcher Dispatcher
	tasks      Tasks
	site       Site
	relay      *Relay
}

// names adds the known names to an error about an unknown one.
type names struct {
	dispatcher Dispatcher
	site       Site
}

func (s *shareCalls) shareRoutes() {
	route(s.doc, huma.Operation{
		OperationID: "get-shares", Method: http.MethodGet, Path: "/v1/shares", Tags: []string{"site"}, Summary: "Show the share tree as it stands",
		Description: "Weight, target, held units, ready jobs, deficit and the time until it holds its target of every node, pool by pool.",
	}, onceLoaded(s.dispatcher, func(ctx context.Context, _ *struct{}) (dispatcher.Standing, error) {
		st := s.dispatcher.Outlook(ctx)
		st.Pools = edge.List(st.Pools)
		for i := range st.Pools {
			st.Pools[i].Shares = edge.List(st.Pools[i].Shares)
		}
		return st, nil
	}))
}

// withQueues adds the names of the queues to an unknown-queue error, so that a typing error is found at once.
func (s *names) withQueues(err error) error {
	p := problem.Of(err)
	if p.Code != "unknown_queue" {
		return err
	}
	p.Detail, _, _ = strings.Cut(p.Detail, ": the site has") // the hint says it
	const most = 20
	var names []string
	for _, q := range s.dispatcher.Queues() {
		names = append(names, q.Name)
	}
	slices.Sort(names)
	switch {
	case len(names) == 0:
		p.Hint = "the site has no queue yet; `divvy apply -f site.yml`"
	case len(names) > most:
		p.Hint = "the site has " + strings.Join(names[:most], ", ") + ", …"
	default:
		p.Hint = "the site has " + strings.Join(names, ", ")
	}
	if m := quotedName.FindStringSubmatch(p.Detail); m != nil {
		if near := strict.Closest(m[1], names); near != "" {
			p.Hint = fmt.Sprintf("did you mean %q? ", near) + p.Hint
		}
	}
	return p
}

// knownShare returns an error, with the path that may have been meant, if the tree in force has no such share. An
// empty path stands for all shares.
func (s *names) knownShare(path string) error {
	if path == "" {
		return nil
	}
	var paths []string
	for _, p := range s.dispatcher.Standing().Pools {
		for i := range p.Shares {
			if p.Shares[i].Path == path {
				return nil
			}
			paths = append(paths, p.Shares[i].Path)
		}
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	p := problem.New(problem.NoShare, fmt.Sprintf("%q", path))
	p.Hint = strict.DidYouMean(path, paths)
	if len(paths) == 0 {
		p.Hint = "the site has no share yet; `divvy apply -f site.yml`"
	}
	return p
}
