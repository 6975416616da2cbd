package web

import (
	"strings"
	"testing"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/explain"
)

// Text, bar and colour of what a share holds go by one figure.
func TestPart(t *testing.T) {
	for _, c := range []struct {
		held, target      float64
		text, bar, colour string
	}{
		{0, 0, "–", "p0", "off"}, {3, 0, "∞", "p20 over", "over"}, {0, 5, "0 %", "p0", "h0"}, {0.996, 1, "100 %", "p20", "h10"}, {1, 3, "33 %", "p7", "h3"},
		{99, 100, "99 %", "p20", "h9"}, {11.04, 10, "110 %", "p20", "h10"}, {11.06, 10, "111 %", "p20 over", "over"}, {6, 2.4, "250 %", "p20 over", "over"},
	} {
		if p := partOf(c.held, c.target); p.text() != c.text || p.bar() != c.bar || p.colour() != c.colour {
			t.Errorf("%v of %v: %q %q %q, want %q %q %q", c.held, c.target, p.text(), p.bar(), p.colour(), c.text, c.bar, c.colour)
		}
	}
	s := newStage(t)
	s.world.standing = []explain.PoolStanding{treeOf(func(c *dispatcher.ShareStanding) {
		c.Target, c.Held = 2.4, []float64{0, 6, 2.65, 1.2}[c.ID-1]
	}, 4)}
	page := s.get("/")
	for id, over := range map[string]bool{"1": false, "2": true, "3": false, "4": false} {
		var slab string
		page.walk(func(e *element, _ []*element) {
			if e.attr["data-id"] == id && e.name == "svg" {
				slab = e.all("rect")[0].attr["class"]
			}
		})
		cell := page.byID("default." + id).all("td")[partAt].attr["class"]
		if strings.Contains(slab, "over") != over || strings.Contains(cell, "over") != over {
			t.Errorf("share %s: icicle %q, table %q", id, slab, cell)
		}
	}
}

// Where nobody owns units nothing is said to be owned, lent or borrowed; where somebody does, of how many.
func TestQuotas(t *testing.T) {
	s := newStage(t)
	s.world.standing = []explain.PoolStanding{treeOf(func(c *dispatcher.ShareStanding) { c.Target, c.Held = 5, 4 }, 2)}
	tail := func(id string) string {
		s.page.rooms.tree.shares.took = s.page.rooms.tree.shares.took.Add(-standingLasts) // look again
		cells := s.get("/").byID("default." + id).all("td")
		var all []string
		for _, c := range cells[len(cells)-3:] {
			all = append(all, c.text)
		}
		return strings.Join(all, " | ")
	}
	if got := tail("1"); got != "– | – | –" {
		t.Errorf("without quotas: %s", got)
	}
	if text := s.get("/").words(); !strings.Contains(text, "No share here owns units") {
		t.Error(text)
	}
	s.world.standing[0].Shares[0].Owned, s.world.standing[0].Shares[0].Own, s.world.standing[0].Shares[0].Lent = 40, 4, 3
	s.world.standing[0].Shares[1].Borrowed = 3
	if a, b := tail("1"), tail("2"); a != "4 of 40 | 3 | 0" || b != "– | – | 3" {
		t.Errorf("with a quota: %s; %s", a, b)
	}
	if text := s.get("/").words(); !strings.Contains(text, "Borrowed: units that siblings own") {
		t.Error(text)
	}
}
