package pg

import (
	"reflect"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Args do what pgx.StrictNamedArgs do, the second time as well.
func TestArgs(t *testing.T) {
	const sql = "-- not @this\nSELECT @b::int, '@a', @a::text, @b::int FROM \"@c\""
	for _, args := range []map[string]any{
		{"a": 1, "b": "2"},
		{"b": "2"},
		{"b": "2", "c": 1},
		{"a": 3, "b": "4", "c": 5},
		{"a": nil, "b": []int64{6}},
		{},
	} {
		wantSQL, want, wantErr := pgx.StrictNamedArgs(args).RewriteQuery(t.Context(), nil, sql, nil)
		for range 2 {
			gotSQL, got, err := Args(args).RewriteQuery(t.Context(), nil, sql, nil)
			if gotSQL != wantSQL || (err == nil) != (wantErr == nil) || !reflect.DeepEqual(got, want) {
				t.Errorf("%v: %q %v %v, want %q %v %v", args, gotSQL, got, err, wantSQL, want, wantErr)
			}
		}
	}
}
