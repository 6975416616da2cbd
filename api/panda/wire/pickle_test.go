package wire

import (
	"encoding/json"
	"fmt"
	"testing"
)

// Every kind of value has its form.
func TestPickle(t *testing.T) {
	v := map[string]any{"a": nil, "b": true, "c": false, "d": 1.5, "e": json.Number("12345678901"), "f": "line\nback\\slash é", "g": []any{1, Tuple{"x"}},
		"h": ByID{"7": map[string]int{}}}
	want := "(dVa\nNsVb\nI01\nsVc\nI00\nsVd\nF1.5\nsVe\nI12345678901\nsVf\nVline\\U0000000aback\\U0000005cslash \\U000000e9\nsVg\n(lI1\na(Vx\ntasVh\n(dI7\n(dss."
	if got := string(PickleOf(v)); got != want {
		t.Errorf("\n%q\n%q", got, want)
	}
	for text, want := range map[string]string{"(lp0\nI1\naI-2\naL30L\na.": "[1 -2 30]", "(l.": "[]", "[1]": "[]", "": "[]", "cos\nsystem\n(S'x'\ntR.": "[]", "(lI99999999999999999999\na.": "[]"} {
		if got := fmt.Sprint(PickledIDs(text)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
