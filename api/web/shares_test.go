package web

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/explain"
	"github.com/divvyhq/divvy/shares"
)

// treeOf is a pool of a tree with so many shares below each, level by level. Targets and held units are set by set.
func treeOf(set func(*dispatcher.ShareStanding), below ...int) explain.PoolStanding {
	p := explain.PoolStanding{Pool: "default", Capacity: 100}
	var grow func(path string, depth int)
	grow = func(path string, depth int) {
		for i := range below[depth] {
			s := dispatcher.ShareStanding{Place: explain.Place{ID: shares.ShareID(len(p.Shares) + 1), Path: fmt.Sprintf("%sS%d", path, i), Pool: p.Pool, Depth: depth + 1, Weight: float64(1 + i),
				Leaf: depth == len(below)-1}}
			if set != nil {
				set(&s)
			}
			p.Shares = append(p.Shares, s)
			if depth+1 < len(below) {
				grow(s.Path+"/", depth+1)
			}
		}
	}
	grow("", 0)
	return p
}

// Of many shares a page shows as many levels as are few enough; all are in it, and a link opens them.
func TestClosedBranches(t *testing.T) {
	for _, c := range []struct {
		below   []int
		shown   int
		shuts   int
		further string
	}{
		{[]int{3, 4}, 15, 0, ""}, {[]int{10, 14}, 150, 0, ""}, {[]int{10, 15}, 10, 10, "150 shares are in closed branches"},
		{[]int{10, 10, 9}, 110, 100, "900 shares"}, {[]int{1000}, 150, 0, "850 shares where nothing goes on"}, {[]int{200, 4}, 150, 200, "600 shares"},
	} {
		s := newStage(t)
		s.world.standing = []explain.PoolStanding{treeOf(nil, c.below...)}
		for _, path := range []string{"/", "/?open=all"} {
			page := s.get(path)
			rows := page.all("tr")[1:]
			shown, shut := 0, 0
			for _, r := range rows {
				if _, hidden := r.attr["hidden"]; !hidden {
					shown++
				}
				if r.attr["aria-expanded"] == "false" {
					shut++
				}
			}
			wantShown, wantShut := c.shown, c.shuts
			if path != "/" {
				wantShown, wantShut = len(s.world.standing[0].Shares), 0
			}
			if shown != wantShown || shut != wantShut || len(rows) != len(s.world.standing[0].Shares) {
				t.Errorf("%v %s: %d rows, %d shown, %d closed; want %d shown, %d closed", c.below, path, len(rows), shown, shut, wantShown, wantShut)
			}
			says := c.further != "" && path == "/"
			if has := strings.Contains(page.byID("main").words(), c.further); says && !strings.Contains(page.byID("main").words(), c.further) || !says && has && c.further != "" {
				t.Errorf("%v %s: %.200s", c.below, path, page.byID("main").words())
			}
		}
	}
	s := newStage(t)
	if w := s.call(http.MethodGet, "/?open=some", nil, "text/html"); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "query.open") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// What a page is told later are the texts that it has: the cells of an update are those of the table.
func TestSharesUpdateIsThePage(t *testing.T) {
	s := newStage(t)
	wait, eta := 90.0, 4000.0
	s.world.standing = []explain.PoolStanding{treeOf(func(c *dispatcher.ShareStanding) {
		c.Target, c.Held, c.Deficit, c.Ready, c.Waited, c.AtTarget = float64(c.ID), 1.5, float64(c.ID)-1.5, 12345, &wait, &eta
	}, 3, 2)}
	page := s.get("/")
	live, err := s.page.byPath["/"].Show(t.Context(), &Request{Path: "/"})
	if err != nil {
		t.Fatal(err)
	}
	cells := s.page.byPath["/"].Live(live).Cells
	for _, r := range page.all("tr")[1:] {
		texts := strings.Split(cells[r.attr["data-live"]], "\t")
		got := r.all("td")
		got = got[len(got)-len(texts)+1:] // as the script does: the last ones
		if texts[0] != r.attr["data-x"] {
			t.Errorf("%s: %q, then %q", r.attr["id"], r.attr["data-x"], texts[0])
		}
		for i, text := range texts[1:] {
			if got[i].text != text {
				t.Errorf("%s: cell %d has %q, then %q", r.attr["id"], i, got[i].text, text)
			}
		}
	}
	if n := len(page.all("th")); n != 13+9 {
		t.Errorf("%d heads", n)
	}
	if text := page.byID("default.1").words(); !strings.Contains(text, "150 %") || !strings.Contains(text, "1 min –") {
		t.Errorf("above its target: %s", text)
	}
	if text := page.byID("default.9").words(); !strings.Contains(text, "17 %") || !strings.Contains(text, "1 min 1 h 6 min") {
		t.Errorf("below its target: %s", text)
	}
}

// The icicle is there when nothing is held: by weight, and says so. What is too narrow for a name is a stroke.
func TestIcicleIsAlwaysThere(t *testing.T) {
	width := func(e *element) float64 {
		f, err := strconv.ParseFloat(strings.TrimSuffix(e.attr["width"], "%"), 64)
		if err != nil {
			t.Errorf("width %q", e.attr["width"])
		}
		return f
	}
	drawn := func(pool explain.PoolStanding) (byID map[string]*element, page *element) {
		s := newStage(t)
		s.world.standing = []explain.PoolStanding{pool}
		page, byID = s.get("/"), map[string]*element{}
		page.walk(func(e *element, _ []*element) {
			if strings.HasPrefix(e.attr["class"], "slab") {
				byID[e.attr["data-id"]] = e
			}
		})
		return byID, page
	}
	at, page := drawn(treeOf(nil, 2, 3))
	if len(at) != 8 || !strings.Contains(page.words(), "Width: weight") {
		t.Fatalf("%d slabs: %s", len(at), page.byID("main").words())
	}
	for id, want := range map[string]float64{"1": 100. / 3, "5": 200. / 3, "2": 100. / 18, "8": 100. / 3} { // 1 of 3, 2 of 3; of these 1 of 6, 3 of 6
		if got := width(at[id]); math.Abs(got-want) > 0.002 {
			t.Errorf("share %s is %v wide, want %v", id, got, want)
		}
	}
	if at["1"].all("rect")[0].attr["class"] != "fill off" {
		t.Errorf("no target: %v", at["1"].all("rect")[0].attr)
	}

	at, page = drawn(treeOf(func(c *dispatcher.ShareStanding) {
		if c.ID == 5 || c.ID == 6 {
			c.Target, c.Held = 10, 20
		}
	}, 2, 3))
	if len(at) != 2 || width(at["5"]) != 100 || at["5"].all("rect")[0].attr["class"] != "fill over" || !strings.Contains(page.words(), "Width: target") {
		t.Errorf("%d slabs", len(at))
	}

	at, _ = drawn(treeOf(nil, 1000))
	strokes := 0
	for _, e := range at {
		if e.name == "rect" {
			strokes++
		}
	}
	if len(at) < 800 || strokes == 0 { // by weight 1 to 1000: the lightest are less than 0.02 percent
		t.Errorf("%d of a thousand are drawn, %d as strokes", len(at), strokes)
	}
}

// BenchmarkSharesPage is the page of a thousand shares: asked for, written.
func BenchmarkSharesPage(b *testing.B) {
	s := newStage(b)
	s.world.standing = []explain.PoolStanding{treeOf(func(c *dispatcher.ShareStanding) { c.Target, c.Held, c.Ready = float64(c.ID), 3, 40 }, 100, 9)}
	b.ReportAllocs()
	for b.Loop() {
		if w := s.call(http.MethodGet, "/", nil, "text/html"); w.Code != http.StatusOK || w.Body.Len() > 600_000 {
			b.Fatal(w.Code, w.Body.Len())
		}
	}
}
