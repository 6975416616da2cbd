package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Python writes, and reads, floats that are no numbers: they count as not said.
func TestNoNumbers(t *testing.T) {
	a, err := Parse([]byte(`{"jobId":"7","state":"finished","meanCoreCount":NaN,"avgRSS":-Infinity,"maxRSS":[Infinity],"jobMetrics":"a=NaN \"NaN"}`))
	want := Args{"jobId": "7", "state": "finished", "meanCoreCount": nil, "avgRSS": nil, "maxRSS": []any{nil}, "jobMetrics": `a=NaN "NaN`}
	if diff := cmp.Diff(want, a); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if a, err := Parse([]byte(`{"jobId":NaN`)); err == nil {
		t.Error("half an object was read", a)
	}
}

func TestRead(t *testing.T) {
	p := Params{"id": Integer | Needed, "f": Number, "s": Text, "b": Boolean, "l": List, "o": Object, "is": Integers, "any": Anything}
	for _, c := range []struct {
		body string
		want Args
		err  string
	}{
		{`{"id":1,"f":2,"s":"x","b":true,"l":[1],"o":{},"is":[1,2]}`, Args{"id": int64(1), "f": 2.0, "s": "x", "b": true,
			"l": []any{json.Number("1")}, "o": map[string]any{}, "is": []int64{1, 2}}, ""},
		{`{"id":"12","f":"2.5","s":5,"b":"False"}`, Args{"id": int64(12), "f": 2.5, "s": "5", "b": false}, ""},
		{`{"id":12.0,"s":null,"is":"3"}`, Args{"id": int64(12), "is": []int64{3}}, ""},
		{`id=3&is=1&is=2&b=1&s=None`, Args{"id": int64(3), "is": []int64{1, 2}, "b": true}, ""},
		{`id=3&is[]=1`, Args{"id": int64(3), "is": []int64{1}}, ""},
		{`{"id":9007199254740993}`, Args{"id": int64(9007199254740993)}, ""},
		{`{"id":1,"x":1}`, nil, "Argument error: got an unexpected keyword argument 'x'"},
		{`{}`, nil, "Argument error: missing a required argument: 'id'"},
		{`{"id":null}`, nil, "Argument error: missing a required argument: 'id'"},
		{`{"id":"a"}`, nil, "Type error: 'id' must be of type int, got str."},
		{`{"id":1,"b":"maybe"}`, nil, "Type error: 'b' must be of type bool, got str."},
		{`{"id":1,"f":[]}`, nil, "Type error: 'f' must be of type float, got list."},
		{`{"id":1,"s":{}}`, nil, "Type error: 's' must be of type str, got dict."},
		{`{"id":1,"l":1.5}`, nil, "Type error: 'l' must be of type list, got float."},
		{`{"id":1,"is":["a"]}`, nil, "Type error: All elements in 'is' must be int."},
		{`{"id":1,"f":"inf"}`, nil, "Type error: 'f' must be of type float, got str."},
	} {
		a, err := Parse([]byte(c.body))
		if err != nil {
			t.Fatal(c.body, err)
		}
		got, err := p.Read(a)
		if diff := cmp.Diff(c.want, got); diff != "" || fmt.Sprint(err) != fmt.Sprint(nilOr(c.err)) {
			t.Errorf("%s: %v %s", c.body, err, diff)
		}
	}
}

func nilOr(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// An answer does not repeat megabytes of what was wrong.
func TestLongNamesAreCut(t *testing.T) {
	_, err := Params{}.Read(Args{strings.Repeat("k", 1<<20): 1})
	if e := Bad("%s", err); len(e.Message) > MaxMessage {
		t.Errorf("%d bytes", len(e.Message))
	}
}
