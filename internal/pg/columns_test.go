package pg

import (
	"reflect"
	"testing"
	"time"
)

type (
	amount int64
	number int32
	letter byte
	place  struct {
		Low  amount
		Node string
	}
)

// Each argument is a field of all rows, in a type that goes to the wire fast.
func TestColumns(t *testing.T) {
	type row struct {
		place
		ShareID      number
		StartDelayMS int64
		CPUMilli     amount
		State        letter
		At           time.Time
		Is           bool
		Note         *string
	}
	now, note := time.Now(), "n"
	rows := []row{{place{1, "a"}, 2, 3, 4, 'r', now, true, &note}, {place{5, "b"}, 6, 7, 8, 'w', now, false, nil}}
	const sql = "-- not @this\nSELECT @start_delay_ms::bigint[], @share_id::int[], @cpu_milli, '@at', @state, @at, @is, @note, @low, @node, @low"
	want := []any{[]int64{3, 7}, []int32{2, 6}, []int64{4, 8}, []string{"r", "w"}, []time.Time{now, now}, []bool{true, false}, []*string{&note, nil},
		[]int64{1, 5}, []string{"a", "b"}}
	for range 2 {
		text, got, err := Columns(rows).RewriteQuery(t.Context(), nil, sql, nil)
		if err != nil || !reflect.DeepEqual(got, want) || text != "-- not @this\nSELECT $1::bigint[], $2::int[], $3, '@at', $4, $5, $6, $7, $8, $9, $8" {
			t.Errorf("%q %v, %v, want %v", text, got, err, want)
		}
	}
	if _, _, err := Columns(rows).RewriteQuery(t.Context(), nil, "SELECT @share_id, @other", nil); err == nil {
		t.Error("an argument that is no field passes")
	}
}

func BenchmarkColumns(b *testing.B) {
	type row struct {
		Low, High, Task int64
		Share, Shape    number
		State           letter
	}
	rows := make([]row, 1000)
	for b.Loop() {
		if _, _, err := Columns(rows).RewriteQuery(b.Context(), nil, "SELECT @low, @high, @task, @share, @shape, @state", nil); err != nil {
			b.Fatal(err)
		}
	}
}
