package web

import (
	"html/template"
	"strconv"
	"strings"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/shares"
)

// row is a share as a line of the table.
type row struct {
	dispatcher.ShareStanding
	Key     string
	Level   int
	Parent  shares.ShareID // 0: a top one of this page
	Pos, Of int            // among its siblings
	Quotas  bool           // some share of the pool owns units
	Width   float64        // in the icicle: the target, or where no share has one its part of all by weight
}

// rows are the lines of the table.
func (s SharesPool) rows() []row {
	rows := make([]row, len(s.Shares))
	at := make(map[string]int, len(s.Shares))
	siblings, quotas := map[shares.ShareID]int{}, s.Quotas()
	for i, sh := range s.Shares {
		r := row{ShareStanding: sh, Key: s.Pool + "." + strconv.Itoa(int(sh.ID)), Level: 1, Quotas: quotas, Width: sh.Target}
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
	if s.ByWeight() {
		widthsByWeight(rows)
	}
	return rows
}

// widthsByWeight gives each share its part of what is above it, in percent of all.
func widthsByWeight(rows []row) {
	sums, widths := map[shares.ShareID]float64{}, map[shares.ShareID]float64{0: 100}
	for i := range rows {
		sums[rows[i].Parent] += rows[i].Weight
	}
	for i := range rows {
		r := &rows[i]
		if r.Width = 0; sums[r.Parent] > 0 {
			r.Width = widths[r.Parent] * r.Weight / sums[r.Parent]
		}
		widths[r.ID] = r.Width
	}
}

// Quotas says whether a share of the pool owns units. Where none does, nothing can be lent or borrowed.
func (s SharesPool) Quotas() bool { return s.quotas }

// ByWeight says whether no share has a target, so that the icicle can only show weights: nothing is held, and
// no unit is free.
func (s SharesPool) ByWeight() bool {
	for i := range s.Shares {
		if s.Shares[i].Target > 0 {
			return false
		}
	}
	return true
}

// openRows is how many shares a page shows at once; of more than that branches begin closed, from the level on with which it
// would be more. A browser lays a thousand rows out in a third of a second.
const openRows = 150

// closedAt is the level whose branches begin closed; 0: none does.
func (s SharesPool) closedAt(rows []row) int {
	if s.open || len(rows) <= openRows {
		return 0
	}
	var ofLevel []int
	for i := range rows {
		for len(ofLevel) < rows[i].Level {
			ofLevel = append(ofLevel, 0)
		}
		ofLevel[rows[i].Level-1]++
	}
	shown, level := ofLevel[0], 1
	for level < len(ofLevel) && shown+ofLevel[level] <= openRows {
		shown += ofLevel[level]
		level++
	}
	if level == len(ofLevel) {
		return 0
	}
	return level
}

// resting marks the rows that are not shown at first where too many shares stand at the top for any level to be closed: of
// those that hold nothing, are owed nothing and have nothing ready all that do not fit beside the others. One that gets work
// is shown as soon as the page hears of it (src/live.ts).
func (s SharesPool) resting(rows []row) (rest map[shares.ShareID]bool) {
	busy, top := 0, 0
	for i := range rows {
		if rows[i].Level == 1 {
			if top++; rows[i].busy() {
				busy++
			}
		}
	}
	if s.open || top <= openRows {
		return nil
	}
	rest = map[shares.ShareID]bool{}
	for i := range rows {
		r := &rows[i]
		switch {
		case r.Level > 1 && rest[r.Parent], r.Level == 1 && !r.busy() && busy >= openRows:
			rest[r.ID] = true
		case r.Level == 1 && !r.busy():
			busy++
		}
	}
	return rest
}

// busy says whether the share holds something, is to, or would like to.
func (r *row) busy() bool { return r.Held > 0 || r.Target > 0 || r.Ready > 0 }

// Resting is how many of its shares are not shown at first since nothing goes on there.
func (s SharesPool) Resting() int { return len(s.resting(s.rows())) }

// Closed is how many of its shares are in branches that begin closed.
func (s SharesPool) Closed() (n int) {
	rows := s.rows()
	at, rest := s.closedAt(rows), s.resting(rows)
	for i := range rows {
		if at > 0 && rows[i].Level > at && !rest[rows[i].ID] {
			n++
		}
	}
	return n
}

// figures are target, held and width for scripts, and the texts of the cells behind the name: what matters most comes first, since
// a telephone shows no more than four columns.
func (r *row) figures() (x string, cells [12]string) {
	x = strconv.FormatFloat(r.Target, 'f', 3, 64) + " " + strconv.FormatFloat(r.Held, 'f', 3, 64)
	if r.Width != r.Target {
		x += " " + strconv.FormatFloat(r.Width, 'f', 3, 64)
	}
	own, lent, borrowed := "–", "–", "–"
	if r.Owned > 0 {
		own, lent = units(r.Own)+" of "+units(r.Owned), units(r.Lent)
	}
	if r.Quotas {
		borrowed = units(r.Borrowed)
	}
	return x, [12]string{units(r.Held), units(r.Target), partOf(r.Held, r.Target).text(), count(r.Ready), units(r.Deficit), waited(r.ShareStanding),
		untilTarget(r.ShareStanding), units(r.Weight), units(r.Deserved), own, lent, borrowed}
}

const partAt = 2 // of the cells: held of target

// Lines are the rows of the table as HTML. By a template a thousand of them would take longer than all else of the page.
// Roles of rows and cells follow from that of the table. What is in a closed branch is there, but hidden: it is found by scripts,
// and shown where there are none (plain.css).
func (s SharesPool) Lines() template.HTML {
	var b []byte
	esc := template.HTMLEscapeString
	rows := s.rows()
	closed, rest := s.closedAt(rows), s.resting(rows)
	for i := range rows {
		r := &rows[i]
		x, cells := r.figures()
		key := esc(r.Key)
		b = append(b, `<tr aria-level="`...)
		b = strconv.AppendInt(b, int64(r.Level), 10)
		b = append(b, `" aria-posinset="`...)
		b = strconv.AppendInt(b, int64(r.Pos), 10)
		b = append(b, `" aria-setsize="`...)
		b = strconv.AppendInt(b, int64(r.Of), 10)
		switch {
		case r.Leaf:
			b = append(b, '"')
		case r.Level == closed:
			b = append(b, `" aria-expanded="false"`...)
		default:
			b = append(b, `" aria-expanded="true"`...)
		}
		switch {
		case rest[r.ID]:
			b = append(b, ` data-rest hidden`...)
		case closed > 0 && r.Level > closed:
			b = append(b, ` hidden`...)
		}
		b = append(b, ` id="`+key+`" data-id="`...)
		b = strconv.AppendInt(b, int64(r.ID), 10)
		b = append(b, `" data-parent="`...)
		b = strconv.AppendInt(b, int64(r.Parent), 10)
		b = append(b, `" data-live="`+key+`" data-live-row data-x="`+x+`"><th scope="row" class="d`...)
		b = strconv.AppendInt(b, int64(r.Level), 10)
		b = append(b, `"><a href="`+esc(shareLink(r.Path))+`">`+esc(shareName(r.Path))+`</a></th>`...)
		for k, c := range cells {
			if k == partAt {
				b = append(b, `<td class="part `+partOf(r.Held, r.Target).bar()+`">`+c+`</td>`...)
			} else {
				b = append(b, `<td>`+c+`</td>`...) // figures, without anything to escape
			}
		}
		b = append(b, "</tr>\n"...)
	}
	return template.HTML(b) // all that is not a number went through esc
}
