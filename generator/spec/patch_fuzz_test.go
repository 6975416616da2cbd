package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"
)

// Changes of a task are refused as such, or make of it what RFC 7396 says; what is a task then is the same one when it was written.
func FuzzMergePatch(f *testing.F) {
	const body = `{"name":"evgen","user":"ann","count":3,"command":["x"],"requirements":{"cores":1,"memory_mb":2000},"priority":9007199254740993}`
	for _, patch := range []string{``, `{}`, `null`, `[]`, `{"priority":5}`, `{"requirements":{"memory_mb":null,"cores":8}}`, `{"requirements":null}`, `{"requirements":5}`, `{"inputs":["a","b"],"per_job":1}`,
		`{"count":null}`, `{"events":{"first":1,"count":10}}`, `{"labels":{"a":{"b":null}}}`, `{"name":{"x":null}}`, `{"priority":1e400}`, `{"uſer":"bob"}`, `{"a":1} {"b":2}`, `{"count":4,"matrix":{"x":[1]}}`} {
		f.Add([]byte(body), []byte(patch))
	}
	f.Add([]byte(`null`), []byte(`{"count":2}`))
	f.Add([]byte(`{"inputs":["a"],"events":{"first":1}}`), []byte(`{"count":2,"events":null}`))
	f.Fuzz(func(t *testing.T, body, patch []byte) {
		var task, changes map[string]any
		if unmarshalExact(body, &task) != nil {
			return // nothing that was stored
		}
		wrong := unmarshalExact(patch, &changes)
		made, err := mergePatch(body, patch)
		if len(patch) == 0 {
			if err != nil || !bytes.Equal(made, body) {
				t.Errorf("without changes: %s, %v", made, err)
			}
			return
		}
		if (err != nil) != (wrong != nil) || err != nil && !errors.Is(err, ErrInvalid) {
			t.Fatalf("%v, though the changes are %v", err, wrong)
		}
		if err != nil {
			return
		}
		var now map[string]any
		if err := unmarshalExact(made, &now); err != nil {
			t.Fatal(err)
		}
		for _, key := range splits {
			if changes[key] != nil {
				for _, other := range splits {
					delete(task, other)
				}
				break
			}
		}
		mustBeMerged(t, task, changes, now)
		if again, err := mergePatch(made, patch); err != nil || !bytes.Equal(again, made) {
			t.Errorf("the same changes once more: %s, %v, not %s", again, err, made)
		}
		mustReadAgain(t, made)
	})
}

// mustBeMerged looks whether each key is as RFC 7396 says.
func mustBeMerged(t *testing.T, was, changes, now map[string]any) {
	t.Helper()
	for key, v := range was {
		if _, changed := changes[key]; !changed && !reflect.DeepEqual(v, now[key]) {
			t.Errorf("%q was %v, and is %v", key, v, now[key])
		}
	}
	for key, v := range now {
		before, there := was[key]
		change, changed := changes[key]
		inner, deep := change.(map[string]any)
		switch {
		case !changed && !there, changed && change == nil:
			t.Errorf("%q is %v, from nowhere", key, v)
		case deep:
			old, _ := before.(map[string]any)
			made, ok := v.(map[string]any)
			if !ok {
				t.Errorf("%q is %v, want an object", key, v)
			}
			mustBeMerged(t, old, inner, made)
		case changed && !reflect.DeepEqual(change, v):
			t.Errorf("%q is %v, want %v", key, v, change)
		}
	}
	for key, change := range changes {
		if _, there := now[key]; !there && change != nil {
			t.Errorf("%q is not there", key)
		}
	}
}

// mustReadAgain reads a task as Clone does.
func mustReadAgain(t *testing.T, made []byte) {
	t.Helper()
	read := func(body []byte) (s Spec, err error) {
		d := json.NewDecoder(bytes.NewReader(body))
		d.DisallowUnknownFields()
		return s, d.Decode(&s)
	}
	spec, err := read(made)
	if err != nil {
		return
	}
	_ = spec.Check() // looks at whatever may stand there
	var written [2][]byte
	for i := range written {
		if written[i], err = json.Marshal(spec); err != nil {
			t.Fatal(err)
		}
		if spec, err = read(written[i]); err != nil {
			t.Fatalf("written as %s: %v", written[i], err)
		}
	}
	if !slices.Equal(written[0], written[1]) {
		t.Errorf("%s is %s when it is read again", written[0], written[1])
	}
}
