package web

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/divvyhq/divvy/api/web/hub"
	"github.com/divvyhq/divvy/dispatcher"
)

// SharesPage is the tree of shares, or one share with its children.
type SharesPage struct {
	AsOf
	Version    int64        `json:"version"`
	NextChange *time.Time   `json:"next_change,omitempty"`
	Share      string       `json:"share"` // path; empty: all
	Pools      []SharesPool `json:"pools"`
	Crumbs     []Crumb      `json:"-"`
	Asked      asked        `json:"-"`
}

// SharesPool is a pool with those of its shares that the page is about.
type SharesPool struct {
	Pool     string                     `json:"pool"`
	Capacity float64                    `json:"capacity"`
	Round    float64                    `json:"round"`
	Held     float64                    `json:"held"`
	Shares   []dispatcher.ShareStanding `json:"shares"`

	open   bool // all branches, however many there are
	quotas bool // some share of the whole pool owns units
}

// Crumb is a step of the way from the root to a share.
type Crumb struct {
	Name, Path string
	Current    bool
}

// Heading is the share's path.
func (s SharesPage) Heading() string {
	if s.Share == "" {
		return "Shares"
	}
	return s.Share
}

// Spans are the times that the course of a share can be seen for.
func (s SharesPage) Spans() []string { return []string{"hour", "day", "week"} }

func (t *tree) sharesPage(ctx context.Context, r *Request) (Dated, error) {
	share, a := r.Param("*"), askedOf(r)
	a.oneOf("open", "all")
	if err := a.err(); err != nil {
		return nil, err
	}
	st := t.standing(ctx)
	page := SharesPage{AsOf: AsOf{st.At}, Version: st.Version, NextChange: st.NextChange, Share: share, Pools: []SharesPool{}, Crumbs: crumbs(share), Asked: a}
	found := share == ""
	for _, pool := range st.Pools {
		part := SharesPool{Pool: pool.Pool, Capacity: pool.Capacity, Round: pool.Round, Held: pool.Held, Shares: []dispatcher.ShareStanding{}, open: a.Is("open", "all")}
		for _, s := range pool.Shares {
			part.quotas = part.quotas || s.Owned > 0
			if share == "" || s.Path == share || strings.HasPrefix(s.Path, share+"/") {
				part.Shares = append(part.Shares, s)
				found = true
			}
		}
		page.Pools = append(page.Pools, part)
	}
	if !found {
		return page, t.noShare(ctx, share)
	}
	return page, nil
}

func crumbs(share string) []Crumb {
	all := []Crumb{{Name: "all", Path: "/", Current: share == ""}}
	for i, c := range share + "/" {
		if c == '/' && share != "" {
			all = append(all, Crumb{Name: shareName(share[:i]), Path: shareLink(share[:i]), Current: i == len(share)})
		}
	}
	return all
}

// waited is how long the next job of a share has waited: in whole minutes from one on, so that not each row of an open page changes
// each second.
func waited(s dispatcher.ShareStanding) string {
	if s.Waited == nil {
		return "–"
	}
	d := time.Duration(*s.Waited * float64(time.Second))
	if d >= time.Minute && d < time.Hour {
		return strconv.Itoa(int(d.Minutes())) + " min"
	}
	return span(d.Truncate(time.Second))
}

// untilTarget is how long a share that is short waits for its target if nothing is reclaimed.
func untilTarget(s dispatcher.ShareStanding) string {
	switch {
	case s.Deficit < 0.001:
		return "–"
	case s.AtTarget == nil:
		return "unknown"
	}
	return span(time.Duration(*s.AtTarget * float64(time.Second)))
}

func (s SharesPage) update() hub.Update {
	u := hub.Update{Shape: fmt.Sprintf("%d %d", s.Version, len(s.Pools)), Cells: map[string]string{}}
	for _, p := range s.Pools {
		u.Shape += fmt.Sprintf(" %s %d %t", p.Pool, len(p.Shares), p.ByWeight())
		u.Cells[p.Pool+".held"], u.Cells[p.Pool+".round"] = units(p.Held), units(p.Round)
		for _, r := range p.rows() {
			x, cells := r.figures()
			u.Cells[r.Key] = x + "\t" + strings.Join(cells[:], "\t")
		}
	}
	return u
}
