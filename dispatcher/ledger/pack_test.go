package ledger_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
	. "github.com/divvyhq/divvy/dispatcher/ledger"
	"github.com/divvyhq/divvy/shares"
)

// anyRare is an entry of any kind that PackRare takes.
var anyRare = rapid.OneOf(drawn[entry.Enqueued](), drawn[entry.Revoked](), drawn[entry.Expected](), drawn[entry.Shaped](), drawn[entry.Adopted](),
	drawn[entry.Bounded](), drawn[entry.Claimed](), drawn[entry.Unclaimed](), drawn[entry.Joined](), drawn[entry.Dropped](), drawn[entry.Paused](),
	drawn[entry.Resumed](), drawn[entry.Killed](), drawn[entry.Placed](), drawn[entry.Moved](), drawn[entry.Closed](), drawn[entry.Capped](),
	drawn[entry.Reported](), drawn[entry.Holed](), drawn[entry.Owed](), drawn[entry.Tick]())

// What PostgreSQL's jsonb gives back of packed entries is what was packed.
func TestRareEntriesComeBack(t *testing.T) {
	_, db := ofTable(t, 10)
	rapid.Check(t, func(r *rapid.T) {
		want := rapid.SliceOfN(anyRare, 0, 6).Draw(r, "entries")
		text, err := PackRare(want)
		if err != nil {
			r.Fatal(err)
		}
		if err := db.QueryRow(t.Context(), "SELECT $1::jsonb::text", text).Scan(&text); err != nil {
			r.Fatal(err)
		}
		got, err := UnpackRare(text)
		if err != nil {
			r.Fatal(err)
		}
		if diff := differ(want, got); diff != "" {
			r.Fatal(diff)
		}
	})
}

func TestRareEntriesRefused(t *testing.T) {
	for name, e := range map[string]entry.Entry{"a grant": entry.Granted{Job: 1}, "an end": entry.Ended{Job: 1, Outcome: entry.Finished, Next: entry.Over},
		"none": nil, "a text that jsonb cannot hold": entry.Revoked{Reason: "a\x00b"}} {
		if text, err := PackRare([]entry.Entry{entry.Tick{}, e}); err == nil || !strings.HasPrefix(err.Error(), "entry 1: ") {
			t.Errorf("%s: %q, %v: want an error that names entry 1", name, text, err)
		}
	}
	for text, want := range map[string]error{`{`: ErrBroken, `[{}]`: ErrBroken, `[{"q":{},"t":{}}]`: ErrBroken, `[{"?":{}}]`: ErrUnknown,
		`[{"enqueued":{}}]`: ErrUnknown, `[{"P":{"task":1,"since":2}}]`: ErrUnknown} {
		if entries, err := UnpackRare(text); !errors.Is(err, want) {
			t.Errorf("%s: %v, %v: want %v", text, entries, err, want)
		}
	}
	at := time.Date(2001, 2, 3, 4, 5, 6, 7000, time.UTC)
	text, err := PackRare([]entry.Entry{entry.Adopted{Number: 7, Site: &shares.Version{Number: 7}}, entry.Tick{Now: at}})
	if want := `[{"a":{"number":7}},{"t":{"now":"2001-02-03T04:05:06.000007Z"}}]`; text != want || err != nil {
		t.Errorf("%s, %v: want %s", text, err, want)
	}
}
