package ledger_test

import (
	"testing"

	"pgregory.net/rapid"

	. "github.com/divvyhq/divvy/dispatcher/ledger"
)

// What is sent between daemons is read as it was.
func TestMarshal(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		want := drawEntries(r)
		text, err := Marshal(want)
		if err != nil {
			r.Fatal(err)
		}
		got, err := Unmarshal(text)
		if diff := differ(want, got); diff != "" || err != nil {
			r.Fatalf("%v, (-) marshalled, (+) unmarshalled:\n%s", err, diff)
		}
	})
	if _, err := Unmarshal([]byte(`{"Kinds":"g"}`)); err == nil {
		t.Error("a grant without its columns is taken")
	}
}
