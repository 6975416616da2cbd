package view

import (
	"fmt"
	"testing"

	"github.com/divvyhq/divvy/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// A half of which not all was looked at is gone on with before the other one.
func TestNewestGoesOnWhereItLooked(t *testing.T) {
	at := func(id int64) *int64 { return &id }
	for _, c := range []struct {
		in   newestIDs
		want string
	}{
		{newestIDs{Live: []int64{9, 8}, Over: []int64{7}}, "[9 8] 8"},
		{newestIDs{Live: []int64{9, 8, 7}, Over: []int64{6}, LiveLooked: at(7)}, "[9 8] 8"},
		{newestIDs{Live: []int64{9}, Over: []int64{6}, LiveLooked: at(8)}, "[9] 8"},
		{newestIDs{Over: []int64{6}, LiveLooked: at(8)}, "[] 8"},
		{newestIDs{Live: []int64{9}, Over: []int64{6, 5}}, "[9 6] -6"},
		{newestIDs{Live: []int64{9}, OverLooked: at(3)}, "[9] -3"},
		{newestIDs{Live: []int64{9, 8}}, "[9 8] 0"},
	} {
		ids, next := c.in.page(2)
		if got := fmt.Sprint(ids, next); got != c.want {
			t.Errorf("%+v: %s, want %s", c.in, got, c.want)
		}
	}
}

// Where more tasks are than a page looks at, it says how to go on, or that it was chosen from some.
func TestListingIsBounded(t *testing.T) {
	for _, c := range []struct {
		l     Listing
		ids   listedIDs
		next  string
		among int
	}{
		{Listing{}, listedIDs{Looked: new(int64(40))}, "40.40", 0},
		{Listing{}, listedIDs{IDs: []int64{9, 8, 7}, Keys: []int64{9, 8, 7}, Looked: new(int64(3))}, "8.8", 0},
		{Listing{Sort: "priority"}, listedIDs{IDs: []int64{9}, Keys: []int64{100}, Looked: new(int64(3))}, "", mostListed},
		{Listing{Sort: "priority"}, listedIDs{IDs: []int64{9, 4, 5}, Keys: []int64{100, 90, 80}}, "90.4", 0},
	} {
		if got := c.l.page(&c.ids, 2); got.Next != c.next || got.Among != c.among || len(c.ids.IDs) > 2 {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}
