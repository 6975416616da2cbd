package problem

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/divvyhq/divvy/api/wire"
)

// Most bounds the errors in one answer; people do not read more.
const Most = 100

// Bounds of the texts of an error, in bytes. A key of a mapping may be megabytes long.
const (
	mostPlace = 500
	mostText  = 2000
)

// bounded is p with no more errors, and no longer texts, than an answer has.
func bounded(p *wire.Problem) *wire.Problem {
	if more := len(p.Errors) - Most; more > 0 {
		p.Errors = append(p.Errors[:Most-1:Most-1], wire.Detail{Message: fmt.Sprintf("%d more errors are not told", more+1)})
	}
	p.Detail = clip(p.Detail, mostText)
	for i := range p.Errors {
		d := &p.Errors[i]
		d.Location, d.Message, d.Hint = clip(d.Location, mostPlace), clip(d.Message, mostText), clip(d.Hint, mostText)
	}
	return p
}

// clip cuts a text that is longer than most bytes.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// FoundIn is String with what was found there.
func FoundIn(d wire.Detail) string {
	if text, ok := d.Value.(string); ok && text != "" {
		d.Location += fmt.Sprintf(" is %q", text)
	}
	return d.String()
}

// Faults collects the faults of one request.
type Faults []wire.Detail

// Add notes a fault at a place such as body.cores.
func (f *Faults) Add(location, message string, value any) {
	*f = append(*f, wire.Detail{Location: location, Message: message, Value: short(value)})
}

// AsQuery names the fields of a request that has no body by what they are there: parameters of the query.
func AsQuery(p *wire.Problem) {
	for i := range p.Errors {
		if field, ok := strings.CutPrefix(p.Errors[i].Location, "body."); ok {
			p.Errors[i].Location = "query." + field
		}
	}
}

// Problem is nil when nothing is wrong.
func (f Faults) Problem() error {
	if len(f) == 0 {
		return nil
	}
	p := New(Invalid, "")
	p.Errors = f
	return p
}

// Echoed is what an answer repeats of a request's value: nothing of what jobs are given, nor of a body as a whole, which has that
// in it. An error is logged, and read by others than who made it.
func Echoed(location string, v any) any {
	if _, whole := v.(map[string]any); whole || location == "body" {
		return nil
	}
	for _, given := range []string{"body.env", "body.command", "body.inputs"} {
		if strings.HasPrefix(location, given) {
			return nil
		}
	}
	return short(v)
}

// short is v when its JSON is short, else nil: an error must not echo megabytes.
func short(v any) any {
	const most = 200
	switch s := v.(type) {
	case nil, bool, int, int64, float64:
		return v
	case string:
		return clip(s, most)
	}
	if b, err := json.Marshal(v); err == nil && len(b) <= most {
		return v
	}
	return nil
}

// ItemField is the place of a field in the i-th element of a list of the body.
func ItemField(list string, i int, field string) string {
	return fmt.Sprintf("body.%s[%d].%s", list, i, field)
}
