package pg

import (
	"bytes"
	"math"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
)

// Slices look on the wire as pgx writes them, and what is none of those slices is pgx's still.
func TestFastArrays(t *testing.T) {
	fast, plain := pgtype.NewMap(), pgtype.NewMap()
	fastArrays(fast)
	one := int64(1)
	for _, c := range []struct {
		oid   uint32
		value any
	}{
		{pgtype.Int8ArrayOID, []int64{0, 1, -1, math.MaxInt64, math.MinInt64}},
		{pgtype.Int8ArrayOID, []int64{}},
		{pgtype.Int8ArrayOID, []int64(nil)},
		{pgtype.Int8ArrayOID, []int32{1, 2}},
		{pgtype.Int8ArrayOID, []*int64{&one, nil}},
		{pgtype.Int4ArrayOID, []int32{0, 1, -1, math.MaxInt32, math.MinInt32}},
		{pgtype.Int4ArrayOID, []int32{}},
		{pgtype.Int4ArrayOID, []int{1, 2}},
		{pgtype.TextArrayOID, []string{"", "a", "schön", "{}\","}},
		{pgtype.TextArrayOID, []string{}},
		{pgtype.TextArrayOID, []string(nil)},
		{pgtype.TIDArrayOID, []pgtype.TID{{BlockNumber: 1 << 20, OffsetNumber: 7, Valid: true}}},
	} {
		for _, format := range []int16{pgtype.BinaryFormatCode, pgtype.TextFormatCode} {
			front := []byte("before")
			got, gotErr := fast.Encode(c.oid, format, c.value, bytes.Clone(front))
			want, wantErr := plain.Encode(c.oid, format, c.value, bytes.Clone(front))
			if gotErr != nil || wantErr != nil || !bytes.Equal(got, want) {
				t.Errorf("%T %v in format %d: %x, %v, want %x, %v", c.value, c.value, format, got, gotErr, want, wantErr)
			}
		}
	}
}
