package broker

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/shares"
)

func TestLowMark(t *testing.T) {
	m := Mark{}.withDefaults()
	for _, c := range []struct {
		stock dispatcher.Stock
		want  int64
	}{
		{dispatcher.Stock{}, 500},
		{dispatcher.Stock{StartsPerMinute: 1000}, 2000},
		{dispatcher.Stock{Startable: 3000, StartsPerMinute: 1000}, 3000},
		{dispatcher.Stock{Startable: -1}, 2000},
		{dispatcher.Stock{Startable: 600_000}, 20_000},
		{dispatcher.Stock{StartsPerMinute: 1e300}, 20_000},
	} {
		if got := m.low(c.stock); got != c.want {
			t.Errorf("%+v: %d, want %d", c.stock, got, c.want)
		}
	}
}

func TestNeeds(t *testing.T) {
	m := Mark{Floor: 100, Cap: 1000}.withDefaults()
	levels := []level{
		{ShareID: 1, ShapeID: 1, Priority: 5, Ready: 90, PiecesLeft: 1000, Epoch: 7},
		{ShareID: 2, ShapeID: 1, Priority: 900, Ready: 10, PiecesLeft: 0},
		{ShareID: 2, ShapeID: 1, Priority: 500, Ready: 20, PiecesLeft: 50},
		{ShareID: 2, ShapeID: 1, Priority: 100, Ready: 10, PiecesLeft: 1000}, // 90 with what 500 gets
		{ShareID: 2, ShapeID: 1, Priority: 0, Ready: 0, PiecesLeft: 1000},    // full by then
		{ShareID: 2, ShapeID: 2, Priority: 0, Ready: 100, PiecesLeft: 1000},  // has its stock, and gets more with the others
		{ShareID: 3, ShapeID: 1, Priority: 0, Ready: 0, PiecesLeft: 1},
		{ShareID: 4, ShapeID: 1, Priority: 9, Ready: 0, PiecesLeft: 10},
		{ShareID: 4, ShapeID: 1, Priority: 1, Ready: 5000, PiecesLeft: 10}, // does not keep priority 9 waiting
	}
	got := needs(levels, []dispatcher.Stock{{Share: 3, Shape: 1, Startable: 200}}, nil, m)
	want := []Need{
		{Share: 3, Ratio: 0, Wants: map[Rung]int64{{1, 0, ""}: 1}},
		{Share: 4, Ratio: 0, Wants: map[Rung]int64{{1, 9, ""}: 10}},
		{Share: 2, Ratio: 0.3, Wants: map[Rung]int64{{1, 500, ""}: 50, {1, 100, ""}: 110, {2, 0, ""}: 100}},
		{Share: 1, Ratio: 0.9, Epoch: 7, Wants: map[Rung]int64{{1, 5, ""}: 110}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestNeedsTopUp: what is not below its mark is filled up with the others only where a batch can hold all of it.
func TestNeedsTopUp(t *testing.T) {
	levels := []level{
		{ShareID: 1, ShapeID: 1, Ready: 50, PiecesLeft: 1000, Tasks: 3},
		{ShareID: 1, ShapeID: 2, Ready: 150, PiecesLeft: 1000, Tasks: 4},
		{ShareID: 2, ShapeID: 1, Ready: 100, PiecesLeft: 1000, Tasks: 1}, // nothing below its mark
	}
	lacking := Rung{1, 0, ""}
	for _, c := range []struct {
		name string
		mark Mark
		want map[Rung]int64
	}{
		{"room", Mark{Floor: 100, Cap: 1000, Batch: 200, Tasks: 7}, map[Rung]int64{lacking: 150, {2, 0, ""}: 50}},
		{"too many jobs", Mark{Floor: 100, Cap: 1000, Batch: 199, Tasks: 7}, map[Rung]int64{lacking: 150}},
		{"too many tasks", Mark{Floor: 100, Cap: 1000, Batch: 200, Tasks: 6}, map[Rung]int64{lacking: 150}},
	} {
		want := []Need{{Share: 1, Ratio: 0.5, Wants: c.want}}
		if d := cmp.Diff(want, needs(levels, nil, nil, c.mark)); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

// TestNeedsInTurn: shares with nothing come first, in the order of the pulls to come and with small batches while there are
// several; those of which that is not known follow, and then who has something.
func TestNeedsInTurn(t *testing.T) {
	m := Mark{Floor: 100, Cap: 1000, First: 30}.withDefaults()
	order := []shares.ShareID{4, 2, 9, 2, 5}
	at := func(share shares.ShareID, ready int64) level {
		return level{ShareID: share, ShapeID: 1, Ready: ready, PiecesLeft: 1000}
	}
	type got struct {
		Share shares.ShareID
		Most  int64
	}
	for _, c := range []struct {
		levels []level
		want   []got
	}{
		{[]level{at(1, 0), at(2, 0), at(3, 50), at(4, 0), at(5, 10)}, []got{{4, 30}, {2, 30}, {1, 0}, {5, 0}, {3, 0}}},
		{[]level{at(1, 0), at(2, 0), at(5, 10)}, []got{{2, 0}, {1, 0}, {5, 0}}}, // nobody else waits
	} {
		var list []got
		for _, n := range needs(c.levels, nil, order, m) {
			list = append(list, got{n.Share, n.Most})
		}
		if d := cmp.Diff(c.want, list); d != "" {
			t.Error(d)
		}
	}
}

// Marks of users are parts of the share's, and what is known of the stock is of each user.
func TestNeedsOfUsers(t *testing.T) {
	m := Mark{Floor: 100, Cap: 1000}.withDefaults()
	levels := []level{
		{ShareID: 1, UserName: "ann", ShapeID: 1, LotsReady: 60, PiecesLeft: 1000},
		{ShareID: 1, UserName: "bob", ShapeID: 1, LotsReady: 60, PiecesLeft: 1000},
		{ShareID: 1, UserName: "eve", ShapeID: 1},
	}
	stock := []dispatcher.Stock{{Share: 1, Shape: 1, User: "ann", Ready: 10}, {Share: 1, Shape: 1, User: "bob", Ready: 55}}
	want := []Need{{Share: 1, Ratio: 0.2, Wants: map[Rung]int64{{1, 0, "ann"}: 90, {1, 0, "bob"}: 45}}} // bob, who lacks none, with her
	if d := cmp.Diff(want, needs(levels, stock, nil, m)); d != "" {
		t.Error(d)
	}
}
