package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/dispatcher"
)

// ResourcesPage is the finite resources as they stand, or the parts of one with those who hold and want its units.
type ResourcesPage struct {
	AsOf
	Resource  string                        `json:"resource,omitempty"` // empty: all
	Resources []dispatcher.ResourceStanding `json:"resources"`
	Total     int                           `json:"total"`
	Claims    []dispatcher.ClaimStanding    `json:"claims,omitempty"` // that are not over, the first ones; of all resources only
}

// Heading is the resource's name.
func (s ResourcesPage) Heading() string { return cmp.Or(s.Resource, "Resources") }

// Bounds of these pages: parts of a keyed family, or of a resource per queue, IDs of a part, and claims.
const (
	mostParted = 200
	mostIDs    = 200
	someClaims = 50
)

func (s *places) allResources(ctx context.Context, _ *Request) (Dated, error) {
	out, err := s.resourcesPage(ctx, "")
	if err == nil {
		out.Claims, err = s.dispatcher.Claims(ctx, dispatcher.ClaimFilter{Limit: someClaims})
	}
	return out, err
}

func (s *places) resource(ctx context.Context, r *Request) (Dated, error) {
	return s.resourcesPage(ctx, r.Param("*"))
}

func (s *places) resourcesPage(ctx context.Context, name string) (ResourcesPage, error) {
	all, err := s.dispatcher.Resources(ctx, name)
	if errors.Is(err, dispatcher.ErrUnknownResource) {
		names, _ := s.resourceNames(ctx) // only for the hint
		err = fmt.Errorf("%w%s", err, nearTo(name, names))
	}
	if err != nil {
		return ResourcesPage{}, err
	}
	out := ResourcesPage{AsOf: Now(), Resource: name, Resources: []dispatcher.ResourceStanding{}, Total: len(all)}
	out.Resources = append(out.Resources, all[:min(len(all), mostParted)]...)
	return out, nil
}

// Part is one part of a resource with those who come first: who holds most, then who wants most.
type Part struct {
	dispatcher.ResourceStanding
	Shown []dispatcher.ResourceID
	More  int
}

// Parts are the parts of the resource.
func (s ResourcesPage) Parts() []Part {
	parts := make([]Part, len(s.Resources))
	for i, r := range s.Resources {
		ids := slices.Clone(r.IDs)
		slices.SortStableFunc(ids, func(a, b dispatcher.ResourceID) int {
			return cmp.Or(cmp.Compare(b.Held, a.Held), cmp.Compare(b.Wanted, a.Wanted))
		})
		parts[i] = Part{ResourceStanding: r, Shown: ids[:min(len(ids), mostIDs)], More: max(0, len(ids)-mostIDs)}
	}
	return parts
}

// Others is how many resources or parts are not shown.
func (s ResourcesPage) Others() int { return s.Total - len(s.Resources) }

// whySays is what keeps an ID from its next unit, in words.
func whySays(id dispatcher.ResourceID) string {
	if id.Why == "" {
		return "–"
	}
	if len(id.KeptFor) == 0 {
		return string(id.Why)
	}
	return string(id.Why) + ": kept for " + strings.Join(id.KeptFor, ", ")
}

func resourceLink(name string) string { return "/resources/" + url.PathEscape(name) }

// ClaimsPage is a page of resource claims.
type ClaimsPage struct {
	AsOf
	Claims []dispatcher.ClaimStanding `json:"items"`
	Next   string                     `json:"next"` // after of the next page
	Asked  asked                      `json:"-"`
}

var claimStates = []string{"pending", "bound", "draining", "released"}

const claimsOfPage = 100

func (s *places) claimsPage(ctx context.Context, r *Request) (Dated, error) {
	a := askedOf(r)
	a.oneOf("state", claimStates...)
	f := dispatcher.ClaimFilter{Task: a.number("task", 1, mostID, 0), State: a.Get("state"), Node: a.Get("node"), Resource: a.Get("resource"),
		After: a.number("after", 0, mostID, 0), Limit: claimsOfPage}
	var all []dispatcher.ClaimStanding
	var err error
	if len(a.wrong) == 0 {
		all, err = s.dispatcher.Claims(ctx, f)
	}
	if err == nil && len(all) == 0 { // a resource that has gone may be held yet
		err = s.checkResource(ctx, &a)
	}
	if err == nil {
		err = a.err()
	}
	if err != nil {
		return nil, err
	}
	out := ClaimsPage{AsOf: Now(), Claims: append([]dispatcher.ClaimStanding{}, all...), Asked: a}
	if len(all) == claimsOfPage {
		out.Next = fmt.Sprint(all[len(all)-1].ID)
	}
	return out, nil
}

// ClaimPage is one claim with those that hold it and that wait for it.
type ClaimPage struct {
	AsOf
	Claim dispatcher.ClaimStanding `json:"claim"`
}

// Heading is the claim's key.
func (c ClaimPage) Heading() string { return fmt.Sprintf("Claim %d: %s", c.Claim.ID, c.Claim.Key) }

func (s *places) claimPage(ctx context.Context, r *Request) (Dated, error) {
	id, err := r.id("claim")
	if err != nil {
		return nil, err
	}
	claim, err := s.dispatcher.Claim(ctx, id)
	return ClaimPage{AsOf: Now(), Claim: claim}, err
}

// takesSays is what a claim takes, in a line.
func takesSays(t dispatcher.ClaimTakes) string {
	var all []string
	for _, name := range sortedKeys(t.Resources) {
		all = append(all, fmt.Sprintf("%s %s", count(t.Resources[name]), name))
	}
	if t.Node {
		all = append(all, "a node")
	}
	for _, kind := range sortedKeys(t.Devices) {
		all = append(all, fmt.Sprintf("%s × device %s", count(t.Devices[kind]), kind))
	}
	switch {
	case t.Missing:
		return "its template is missing"
	case len(all) == 0:
		return "nothing"
	}
	return strings.Join(all, ", ")
}

func sortedKeys[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
