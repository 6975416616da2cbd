package pg

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// Columns are rows for a statement that takes them as arrays, to unnest them: @start_ms has the field StartMS of each row, of any integer type
// of its size or as text where it is text or a letter. Fields that the statement does not name are left out. R is a struct; the texts of
// statements are kept for ever, as those of Args.
func Columns[R any](rows []R) pgx.QueryRewriter { return columns{reflect.ValueOf(rows)} }

type columns struct{ rows reflect.Value }

// RewriteQuery is pgx.QueryRewriter.
func (c columns) RewriteQuery(ctx context.Context, conn *pgx.Conn, sql string, rest []any) (string, []any, error) {
	key := columnsKey{sql, c.rows.Type().Elem()}
	found, ok := columnsOf.Load(key)
	if !ok {
		made, err := key.number(ctx, conn, rest)
		if err != nil {
			return "", nil, err
		}
		found, _ = columnsOf.LoadOrStore(key, made)
	}
	of := found.(numberedColumns)
	values := make([]any, len(of.fields))
	for i, field := range of.fields {
		values[i] = c.column(field)
	}
	return of.sql, values, nil
}

// columnsKey is a statement and the type of the rows that it is for.
type columnsKey struct {
	sql string
	row reflect.Type
}

// numberedColumns is a text whose named arguments have become $1, $2, …, and the fields that they are.
type numberedColumns struct {
	sql    string
	fields []reflect.StructField
}

// columnsOf has numberedColumns by columnsKey.
var columnsOf sync.Map

func (k columnsKey) number(ctx context.Context, conn *pgx.Conn, rest []any) (of numberedColumns, err error) {
	fields := pgx.NamedArgs{}
	for _, f := range reflect.VisibleFields(k.row) {
		fields[argumentOf(f.Name)] = f
	}
	var order []any
	if of.sql, order, err = fields.RewriteQuery(ctx, conn, k.sql, rest); err != nil {
		return of, err
	}
	for i, field := range order {
		f, ok := field.(reflect.StructField)
		if !ok {
			return of, fmt.Errorf("argument %d of %s is no field of %s", i+1, StatementName(k.sql), k.row)
		}
		of.fields = append(of.fields, f)
	}
	return of, nil
}

// humps are where a word ends within the name of a field.
var humps = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])`)

func argumentOf(field string) string {
	return strings.ToLower(humps.ReplaceAllString(field, "${1}${3}_${2}${4}"))
}

// plain are the types whose slices fastArrays writes, by what they are of.
var plain = map[reflect.Kind]reflect.Type{reflect.Int64: reflect.TypeFor[int64](), reflect.Int32: reflect.TypeFor[int32](),
	reflect.String: reflect.TypeFor[string](), reflect.Uint8: reflect.TypeFor[string]()}

func (c columns) column(field reflect.StructField) any {
	of := field.Type
	if p, ok := plain[of.Kind()]; ok {
		of = p
	}
	n := c.rows.Len()
	list := reflect.MakeSlice(reflect.SliceOf(of), n, n)
	for i := range n {
		to, v := list.Index(i), c.rows.Index(i).FieldByIndex(field.Index)
		switch v.Kind() {
		case reflect.Int64, reflect.Int32:
			to.SetInt(v.Int())
		case reflect.String:
			to.SetString(v.String())
		case reflect.Uint8:
			to.SetString(string(rune(v.Uint())))
		default:
			to.Set(v)
		}
	}
	return list.Interface()
}
