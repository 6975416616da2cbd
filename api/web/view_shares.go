package web

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/shares"
)

// SharesPage is the tree of shares, or one share with what is below it.
type SharesPage struct {
	AsOf
	Version    int64        `json:"version"`
	NextChange *time.Time   `json:"next_change,omitempty"`
	Share      string       `json:"share"` // path; empty: all
	Pools      []SharesPool `json:"pools"`
	Crumbs     []Crumb      `json:"-"`
}

// SharesPool is a pool with those of its shares that the page is about.
type SharesPool struct {
	Pool     string                     `json:"pool"`
	Capacity float64                    `json:"capacity"`
	Round    float64                    `json:"round"`
	Held     float64                    `json:"held"`
	Shares   []dispatcher.ShareStanding `json:"shares"`
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

func (p *Page) sharesView(path string) View {
	return View{
		Name: "shares", Path: path, Title: "Shares", Nav: "/",
		Show: func(ctx context.Context, r *Request) (Dated, error) { return p.sharesPage(ctx, r.Param("*")) },
		Live: func(d Dated) Update { return d.(SharesPage).update() },
	}
}

func (p *Page) sharesPage(ctx context.Context, share string) (SharesPage, error) {
	st := p.standing(ctx)
	page := SharesPage{AsOf: AsOf{st.At}, Version: st.Version, NextChange: st.NextChange, Share: share, Pools: []SharesPool{}, Crumbs: crumbs(share)}
	found := share == ""
	for _, pool := range st.Pools {
		part := SharesPool{Pool: pool.Pool, Capacity: pool.Capacity, Round: pool.Round, Held: pool.Held, Shares: []dispatcher.ShareStanding{}}
		for _, s := range pool.Shares {
			if share == "" || s.Path == share || strings.HasPrefix(s.Path, share+"/") {
				part.Shares = append(part.Shares, s)
				found = true
			}
		}
		page.Pools = append(page.Pools, part)
	}
	if !found {
		return page, fmt.Errorf("%w: no share has the path %q; the page / has all of them", ErrNoPage, share)
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

// row is a share as a line of the table.
type row struct {
	dispatcher.ShareStanding
	Key     string
	Level   int
	Parent  shares.ShareID // 0: a top one of this page
	Pos, Of int            // among its siblings
	X       string         // target and held, for scripts
	Cells   []cell
}

// cell is a figure that changes.
type cell struct {
	Key, Text string
	Bar       bool // with held of target behind it, which is Part
	Part      string
}

// Rows are the lines of the table.
func (s SharesPool) Rows() []row {
	rows := make([]row, len(s.Shares))
	at := map[string]int{}
	siblings := map[shares.ShareID]int{}
	for i, sh := range s.Shares {
		r := row{ShareStanding: sh, Key: s.Pool + "." + strconv.Itoa(int(sh.ID)), Level: 1}
		if up := strings.LastIndexByte(sh.Path, '/'); up >= 0 {
			if above, ok := at[sh.Path[:up]]; ok {
				r.Level, r.Parent = rows[above].Level+1, rows[above].ID
			}
		}
		siblings[r.Parent]++
		r.Pos = siblings[r.Parent]
		r.X = strconv.FormatFloat(sh.Target, 'f', 3, 64) + " " + strconv.FormatFloat(sh.Held, 'f', 3, 64)
		r.Cells = cellsOf(r.Key, sh)
		at[sh.Path], rows[i] = i, r
	}
	for i := range rows {
		rows[i].Of = siblings[rows[i].Parent]
	}
	return rows
}

func cellsOf(key string, s dispatcher.ShareStanding) []cell {
	part := 0.0
	if s.Target > 0 {
		part = min(1, s.Held/s.Target)
	} else if s.Held > 0 {
		part = 1
	}
	return []cell{
		{Key: key + ".deserved", Text: units(s.Deserved)}, {Key: key + ".target", Text: units(s.Target)},
		{Key: key + ".held", Text: units(s.Held), Bar: true, Part: strconv.FormatFloat(part, 'f', 3, 64)},
		{Key: key + ".own", Text: units(s.Own)}, {Key: key + ".lent", Text: units(s.Lent)}, {Key: key + ".borrowed", Text: units(s.Borrowed)},
		{Key: key + ".ready", Text: count(s.Ready)}, {Key: key + ".deficit", Text: units(s.Deficit)}, {Key: key + ".wait", Text: untilTarget(s)},
	}
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

func (s SharesPage) update() Update {
	u := Update{Shape: fmt.Sprintf("%d %d", s.Version, len(s.Pools)), Cells: map[string]string{}}
	for _, p := range s.Pools {
		u.Shape += fmt.Sprintf(" %s %d", p.Pool, len(p.Shares))
		u.Cells[p.Pool+".held"], u.Cells[p.Pool+".round"] = units(p.Held), units(p.Round)
		for _, r := range p.Rows() {
			u.Cells[r.Key+".x"] = r.X
			for _, c := range r.Cells {
				u.Cells[c.Key] = c.Text
				if c.Bar {
					u.Cells[c.Key+"%"] = c.Part
				}
			}
		}
	}
	return u
}
