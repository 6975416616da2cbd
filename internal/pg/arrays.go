package pg

import (
	"encoding/binary"

	"github.com/jackc/pgx/v5/pgtype"
)

// fastArrays has the slices that batches pass by the thousand written straight to the wire. pgx boxes each element
// and looks up what it is, which costs a grant of 64 jobs more than all else that it does in pgx.
func fastArrays(m *pgtype.Map) {
	putArrays(m, pgtype.Int8ArrayOID, AppendInt8)
	putArrays(m, pgtype.Int4ArrayOID, func(b []byte, v int32) []byte {
		return binary.BigEndian.AppendUint32(append(b, 0, 0, 0, 4), uint32(v))
	})
	putArrays(m, pgtype.TextArrayOID, AppendText)
	putArrays(m, pgtype.TIDArrayOID, func(b []byte, v pgtype.TID) []byte {
		if !v.Valid {
			return append(b, 0xff, 0xff, 0xff, 0xff)
		}
		b = binary.BigEndian.AppendUint32(append(b, 0, 0, 0, 6), v.BlockNumber)
		return binary.BigEndian.AppendUint16(b, v.OffsetNumber)
	})
}

// AppendInt8 appends a bigint as it is sent: its length, and its bytes.
func AppendInt8(b []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(append(b, 0, 0, 0, 8), uint64(v))
}

// AppendText appends a text as it is sent.
func AppendText(b []byte, v string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(v))), v...)
}

// AppendArray appends an array without its length: of one dimension, counted from 1. The flag that there are NULLs is left out, the server
// looks at the elements.
func AppendArray[T any](b []byte, of uint32, values []T, element func([]byte, T) []byte) []byte {
	b = append(b, 0, 0, 0, 1, 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint32(b, of)
	b = binary.BigEndian.AppendUint32(b, uint32(len(values)))
	b = binary.BigEndian.AppendUint32(b, 1)
	for _, v := range values {
		b = element(b, v)
	}
	return b
}

// arrayCodec is pgx's own but for the encoding of []T.
type arrayCodec[T any] struct {
	*pgtype.ArrayCodec
	element func(b []byte, v T) []byte // appends the length of v and v
}

// putArrays has []T encoded by element where an array of this type is wanted.
func putArrays[T any](m *pgtype.Map, oid uint32, element func([]byte, T) []byte) {
	if of, ok := m.TypeForOID(oid); ok {
		if plain, ok := of.Codec.(*pgtype.ArrayCodec); ok {
			m.RegisterType(&pgtype.Type{Name: of.Name, OID: oid, Codec: &arrayCodec[T]{plain, element}})
		}
	}
}

// PlanEncode is pgtype.Codec.
func (c *arrayCodec[T]) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, ok := value.([]T); ok && format == pgtype.BinaryFormatCode {
		return c
	}
	return c.ArrayCodec.PlanEncode(m, oid, format, value)
}

// Encode is pgtype.EncodePlan.
func (c *arrayCodec[T]) Encode(value any, b []byte) ([]byte, error) {
	values := value.([]T)
	if values == nil {
		return nil, nil
	}
	return AppendArray(b, c.ElementType.OID, values, c.element), nil
}
