package mutate

import (
	"encoding/json"
	"slices"
	"strings"
)

// JSON of a JSON object: each field left out, of another type, negative, huge, empty, and unknown ones.
func JSON(good string) []string {
	out := []string{good}
	var walk func(v any, rebuild func(any) any)
	emit := func(v any) {
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		out = append(out, string(b))
	}
	walk = func(v any, rebuild func(any) any) {
		switch v := v.(type) {
		case map[string]any:
			for key, value := range v {
				with := func(x any) any {
					m := map[string]any{}
					for k, y := range v {
						m[k] = y
					}
					m[key] = x
					return rebuild(m)
				}
				without := map[string]any{"unknown": map[string]any{"a": 1}}
				for k, y := range v {
					if k != key {
						without[k] = y
					}
				}
				emit(rebuild(without))
				if key == "outputs" || key == "labels" || key == "report" {
					emit(with([]any{}))
					continue
				}
				for _, x := range []any{-1, 1e9, 0, "", "odd", strings.Repeat("x", 300), strings.Repeat("ä", 5000), strings.Repeat("y", 65537), true, []any{}, map[string]any{}} {
					emit(with(x))
				}
				walk(value, with)
			}
		case []any:
			for i, value := range v {
				walk(value, func(x any) any {
					l := slices.Clone(v)
					l[i] = x
					return rebuild(l)
				})
			}
		}
	}
	var v any
	if err := json.Unmarshal([]byte(good), &v); err != nil {
		panic(err)
	}
	walk(v, func(x any) any { return x })
	return out
}
