package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/divvyhq/divvy/dispatcher/entry"
)

// PackRare makes one text of entries: a JSON list with an object an entry, whose only key is its letter. The outbox keeps entries
// so. Grants, ends and starts have columns of their own in the log, and are refused.
func PackRare(entries []entry.Entry) (string, error) {
	list := make([]map[string]entry.Entry, len(entries))
	for i, e := range entries {
		if err := checkRare(e); err != nil {
			return "", fmt.Errorf("entry %d: %w", i, err)
		}
		list[i] = map[string]entry.Entry{string(entry.KindOf(e)): e}
	}
	text, err := json.Marshal(list)
	return string(text), err
}

// UnpackRare reads what PackRare made. ErrUnknown: a newer version wrote a kind or a field that this one does not know.
func UnpackRare(text string) ([]entry.Entry, error) {
	var list []map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	entries := make([]entry.Entry, len(list))
	for i, of := range list {
		if len(of) != 1 {
			return nil, fmt.Errorf("entry %d has %d kinds, not one: %w", i, len(of), ErrBroken)
		}
		for letter, fields := range of {
			var kind entry.Kind
			if len(letter) == 1 {
				kind = entry.Kind(letter[0])
			}
			var err error
			if entries[i], err = unpackRare(kind, string(fields)); err != nil {
				return nil, fmt.Errorf("entry %d: %w", i, err)
			}
		}
	}
	return entries, nil
}

func unpackRare(kind entry.Kind, text string) (entry.Entry, error) {
	e, err := entry.Decode(kind, text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("kind %q: %w: %w", kind, ErrUnknown, err)
	case e == nil:
		return nil, fmt.Errorf("kind %q: %w", kind, ErrUnknown)
	}
	return e, nil
}

// checkRare refuses an entry with a text that jsonb does not keep as it is.
func checkRare(e entry.Entry) error {
	if !entry.IsRare(e) {
		return fmt.Errorf("%T is no rare kind of entry", e)
	}
	if a, ok := e.(entry.Adopted); ok {
		a.Site = nil // it is not written
		e = a
	}
	return checkStrings(reflect.ValueOf(e))
}

func checkStrings(v reflect.Value) error {
	switch v.Kind() {
	case reflect.String:
		return checkTexts(v.String())
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if err := checkStrings(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map:
		for each := v.MapRange(); each.Next(); {
			if err := errors.Join(checkStrings(each.Key()), checkStrings(each.Value())); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if err := checkStrings(v.Field(i)); err != nil {
				return err
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return checkStrings(v.Elem())
		}
	}
	return nil
}
