package web

import (
	"context"
	"fmt"
	"strconv"

	"github.com/divvyhq/divvy/internal/site"
)

// VersionsPage lists applied site files, newest first.
type VersionsPage struct {
	AsOf
	InForce  int64       `json:"in_force"`
	Versions []site.Head `json:"versions"`
	Next     string      `json:"next"` // pass it as before; empty: there are no older ones
}

const versionsPerPage = 50

func (t *tree) versions(ctx context.Context, r *Request) (Dated, error) {
	a := askedOf(r)
	before := a.number("before", 1, mostID, 0)
	if err := a.err(); err != nil {
		return nil, err
	}
	page := VersionsPage{AsOf: Now()}
	var err error
	if page.Versions, err = t.site.History(ctx, before, versionsPerPage); err != nil {
		return nil, err
	}
	newest := page.Versions
	if before > 0 {
		if newest, err = t.site.History(ctx, 0, 1); err != nil {
			return nil, err
		}
	}
	if len(newest) > 0 { // the newest is the one in force; the standing of the shares knows it too, but takes a solve
		page.InForce = newest[0].Version
	}
	if n := len(page.Versions); n == versionsPerPage {
		page.Next = strconv.FormatInt(page.Versions[n-1].Version, 10)
	}
	if page.Versions == nil {
		page.Versions = []site.Head{}
	}
	return page, nil
}

// VersionPage is one version: the file, and what it changed.
type VersionPage struct {
	AsOf
	site.Head
	Against int64        `json:"against"` // 0: it is the first one
	Changes site.Changes `json:"changes"`
	Source  string       `json:"source"`
}

// Heading names the version.
func (v VersionPage) Heading() string { return fmt.Sprintf("Version %d", v.Version) }

// Lines are the changes in words.
func (v VersionPage) Lines() []site.ChangeLine { return v.Changes.Lines() }

func (t *tree) version(ctx context.Context, r *Request) (Dated, error) {
	n, err := strconv.ParseInt(r.Param("version"), 10, 64)
	if err != nil || n < 1 {
		return nil, fmt.Errorf("%w: %q is not the number of a version; /versions lists them", ErrNoPage, r.Param("version"))
	}
	a := askedOf(r)
	against := a.number("against", 1, mostID, 0)
	if err := a.err(); err != nil {
		return nil, err
	}
	st, err := t.site.Get(ctx, n)
	if err != nil {
		return nil, err
	}
	page := VersionPage{AsOf: Now(), Head: st.Head(), Source: st.Source, Against: against}
	if against == 0 {
		page.Against = n - 1
	}
	if page.Against > 0 {
		page.Changes, err = t.site.Diff(ctx, page.Against, n)
	}
	return page, err
}
