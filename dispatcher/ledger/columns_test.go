package ledger_test

import (
	"testing"

	"pgregory.net/rapid"

	. "github.com/divvyhq/divvy/dispatcher/ledger"
)

// What is sent between daemons is read as it was.
func TestPack(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		want := drawEntries(r)
		packed, err := Pack(want)
		if err != nil {
			r.Fatal(err)
		}
		got, err := packed.Unpack()
		if diff := differ(want, got); diff != "" || err != nil {
			r.Fatalf("%v, (-) packed, (+) unpacked:\n%s", err, diff)
		}
	})
	if _, err := (&Columns{Kinds: "g"}).Unpack(); err == nil {
		t.Error("a grant without its columns is taken")
	}
}
