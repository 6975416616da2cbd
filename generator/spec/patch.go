package spec

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/divvyhq/divvy/internal/site/strict"
)

// Splits says that the spec itself says what its work is.
func (s *Spec) Splits() bool {
	return s.Count != 0 || len(s.Inputs) > 0 || s.InputsFile != "" || s.Events != nil || len(s.Matrix) > 0 || s.Grouped()
}

// Patched is a task as it was written, with changes to it: a part of a Spec, as in RFC 7396. The error is Faults.
func Patched(body, changes json.RawMessage) (s Spec, err error) {
	if body, err = mergePatch(body, changes); err != nil {
		return s, err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return s, Invalid("changes", err.Error(), "keys of a task file, as in POST /v1/tasks")
	}
	return s, nil
}

// mergePatch changes an object as RFC 7396 says. A new way to split the work takes the place of the old one.
func mergePatch(body, patch json.RawMessage) ([]byte, error) {
	if len(patch) == 0 {
		return body, nil
	}
	if strict.ManyValues(patch, maxInline) {
		return nil, Invalid("changes", fmt.Sprintf("have more than %d values", maxInline), "say inputs_streamed, and send the inputs for themselves")
	}
	var target, changes map[string]any
	if err := unmarshalExact(patch, &changes); err != nil {
		return nil, Invalid("changes", "is not a JSON object: "+err.Error(), `for instance {"priority": 5}`)
	}
	if err := unmarshalExact(body, &target); err != nil {
		return nil, err
	}
	for _, key := range splits {
		if changes[key] != nil {
			for _, other := range splits {
				delete(target, other)
			}
			break
		}
	}
	return json.Marshal(merge(target, changes))
}

// unmarshalExact keeps numbers as they are written.
func unmarshalExact(body []byte, into *map[string]any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	return d.Decode(into)
}

func merge(target, changes map[string]any) map[string]any {
	if target == nil {
		target = map[string]any{}
	}
	for key, value := range changes {
		switch v := value.(type) {
		case nil:
			delete(target, key)
		case map[string]any:
			inner, _ := target[key].(map[string]any)
			target[key] = merge(inner, v)
		default:
			target[key] = v
		}
	}
	return target
}
