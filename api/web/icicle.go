package web

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"

	"github.com/divvyhq/divvy/shares"
)

// slab is a share in the icicle: as wide as its target is of all targets beside it, or its weight where none has one. The script
// does the same again when figures change (src/icicle.ts).
type slab struct {
	ID           shares.ShareID
	Name, Path   string
	X, Width     string // percent
	Y            int
	Target, Held float64
	Class        string // by held of target

	x, width float64
}

const (
	slabHeight    = 28
	narrowest     = 0.02 // percent; what is less is not drawn
	narrowestLink = 0.25 // what is less is a stroke, too narrow to be pointed at
	narrowestName = 1.5  // what is less has no room for a name
	deepestSlabs  = 12
)

// slabs are the shares of the pool that are wide enough to be drawn.
func (s SharesPool) slabs() []slab {
	rows := s.rows()
	under := map[shares.ShareID]float64{} // sum of targets by parent, or the parent's own if that is more
	for i := range rows {
		under[rows[i].Parent] += rows[i].Width
	}
	for i := range rows {
		under[rows[i].ID] = max(under[rows[i].ID], rows[i].Width)
	}
	at := map[shares.ShareID]slab{0: {width: 100}}
	filled := map[shares.ShareID]float64{}
	var all []slab
	for i := range rows {
		r := &rows[i]
		above, there := at[r.Parent]
		if !there || under[r.Parent] <= 0 || r.Level > deepestSlabs {
			continue
		}
		width := above.width * r.Width / under[r.Parent]
		if width < narrowest {
			continue
		}
		b := slab{ID: r.ID, Name: shareName(r.Path), Path: r.Path, Y: (r.Level - 1) * slabHeight, Target: r.Target, Held: r.Held,
			x: above.x + filled[r.Parent], width: width, Class: partOf(r.Held, r.Target).colour()}
		filled[r.Parent] += width
		b.X, b.Width = strconv.FormatFloat(b.x, 'f', 3, 64), strconv.FormatFloat(b.width, 'f', 3, 64)
		at[r.ID] = b
		all = append(all, b)
	}
	return all
}

// Icicle is the drawing as SVG, in pixels high and percent wide; nothing where there is no share.
func (s SharesPool) Icicle() template.HTML {
	var b strings.Builder
	esc := template.HTMLEscapeString
	deepest := 0
	for _, a := range s.slabs() {
		deepest = max(deepest, a.Y+slabHeight)
		if a.width < narrowestLink {
			fmt.Fprintf(&b, `<rect class="slab %s" data-id="%d" x="%s%%" y="%d" width="%s%%" height="%d"/>`, a.Class, a.ID, a.X, a.Y, a.Width, slabHeight-3)
			continue
		}
		fmt.Fprintf(&b, `<svg class="slab" data-id="%d" x="%s%%" y="%d" width="%s%%" height="%d"><a href="%s" tabindex="-1"><title>%s: held %s of %s</title>`,
			a.ID, a.X, a.Y, a.Width, slabHeight-2, esc(shareLink(a.Path)), esc(a.Path), units(a.Held), units(a.Target))
		fmt.Fprintf(&b, `<rect width="100%%" height="100%%" class="fill %s"/>`, a.Class)
		if a.width >= narrowestName {
			fmt.Fprintf(&b, `<text x="5" y="18">%s</text>`, esc(a.Name))
		}
		b.WriteString("</a></svg>\n")
	}
	if deepest == 0 {
		return ""
	}
	return template.HTML(fmt.Sprintf(`<svg width="100%%" height="%d" aria-hidden="true">`, deepest) + b.String() + "</svg>") // text went through esc
}
