package strict

import (
	"fmt"
	"reflect"
	"strings"
)

// Keys lists the keys of a struct for a page: each with what holds where it is not given, as x has it, and the doc of its field.
// Keys without a doc are not listed.
func Keys(x any) string {
	var b strings.Builder
	v := reflect.ValueOf(x)
	for _, f := range fieldsOf(v.Type()) {
		if f.doc == "" {
			continue
		}
		b.WriteString("- `" + f.key + "`")
		if d := v.FieldByIndex(f.index); !d.IsZero() && d.Kind() != reflect.Struct {
			fmt.Fprintf(&b, " (%v)", d.Interface())
		}
		b.WriteString(": " + strings.TrimSuffix(f.doc, ".") + "\n")
	}
	return b.String()
}
