package web

import (
	"context"
	"fmt"
	"html/template"
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
}

// rows are the lines of the table.
func (s SharesPool) rows() []row {
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
		at[sh.Path], rows[i] = i, r
	}
	for i := range rows {
		rows[i].Of = siblings[rows[i].Parent]
	}
	return rows
}

// figures are target and held for scripts, and the texts of the cells behind the weight; the fourth is the part of its
// target that the share holds, for a meter.
func (r row) figures() (x string, cells [10]string) {
	part := 0.0
	if r.Target > 0 {
		part = min(1, r.Held/r.Target)
	} else if r.Held > 0 {
		part = 1
	}
	x = strconv.FormatFloat(r.Target, 'f', 3, 64) + " " + strconv.FormatFloat(r.Held, 'f', 3, 64)
	return x, [10]string{units(r.Deserved), units(r.Target), units(r.Held), strconv.FormatFloat(part, 'f', 3, 64),
		units(r.Own), units(r.Lent), units(r.Borrowed), count(r.Ready), units(r.Deficit), untilTarget(r.ShareStanding)}
}

const meterAt = 3

// Lines are the rows of the table as HTML. By a template a thousand of them would take longer than all else of the page.
func (s SharesPool) Lines() template.HTML {
	var b strings.Builder
	esc := template.HTMLEscapeString
	for _, r := range s.rows() {
		x, cells := r.figures()
		open := ""
		if !r.Leaf {
			open = ` aria-expanded="true"`
		}
		fmt.Fprintf(&b, `<tr role="row" aria-level="%d" aria-posinset="%d" aria-setsize="%d"%s id="%s" data-id="%d" data-parent="%d" data-live="%s" data-live-row data-x="%s">`,
			r.Level, r.Pos, r.Of, open, esc(r.Key), r.ID, r.Parent, esc(r.Key), x)
		fmt.Fprintf(&b, `<th role="rowheader" scope="row" class="d%d"><a href="%s">%s</a></th><td role="gridcell" class="n">%s</td>`,
			r.Level, esc(shareLink(r.Path)), esc(shareName(r.Path)), esc(units(r.Weight)))
		for i, c := range cells {
			if i == meterAt {
				b.WriteString(`<td role="gridcell"><meter min="0" max="1" value="` + c + `" aria-label="held of target"></meter></td>`)
			} else {
				b.WriteString(`<td role="gridcell" class="n">` + esc(c) + `</td>`)
			}
		}
		b.WriteString("</tr>\n")
	}
	return template.HTML(b.String()) // all that is not a number went through esc
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
		for _, r := range p.rows() {
			x, cells := r.figures()
			u.Cells[r.Key] = x + "\t" + strings.Join(cells[:], "\t")
		}
	}
	return u
}
