package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/divvyhq/divvy/dispatcher/entry"
)

// rareKinds decode the entries that are jsonb in the table.
var rareKinds = map[entry.Kind]func(kind entry.Kind, text string) (entry.Entry, error){
	entry.KindEnqueued:  decode[entry.Enqueued],
	entry.KindRevoked:   decode[entry.Revoked],
	entry.KindExpected:  decode[entry.Expected],
	entry.KindShaped:    decode[entry.Shaped],
	entry.KindAdopted:   decode[entry.Adopted],
	entry.KindBounded:   decode[entry.Bounded],
	entry.KindPolled:    decode[entry.Polled],
	entry.KindLeader:    decode[entry.Leader],
	entry.KindTick:      decode[entry.Tick],
	entry.KindClaimed:   decode[entry.Claimed],
	entry.KindUnclaimed: decode[entry.Unclaimed],
	entry.KindJoined:    decode[entry.Joined],
	entry.KindDropped:   decode[entry.Dropped],
	entry.KindTook:      decode[entry.Took],
	entry.KindPaused:    decode[entry.Paused],
	entry.KindResumed:   decode[entry.Resumed],
	entry.KindKilled:    decode[entry.Killed],
	entry.KindPlaced:    decode[entry.Placed],
	entry.KindMoved:     decode[entry.Moved],
	entry.KindClosed:    decode[entry.Closed],
	entry.KindCapped:    decode[entry.Capped],
	entry.KindReported:  decode[entry.Reported],
	entry.KindHoled:     decode[entry.Holed],
	entry.KindOwed:      decode[entry.Owed],
	entry.KindStood:     decode[entry.Stood],
	entry.KindAsked:     decode[entry.Asked],
	entry.KindLasting:   decode[entry.Lasting],
	entry.KindWished:    decode[entry.Wished],
	entry.KindHeard:     decode[entry.Heard],
}

// PackRare makes one text of entries: a JSON list with an object an entry, whose only key is its letter. The outbox keeps entries
// so. Grants, ends and starts have columns of their own in the log, and are refused.
func PackRare(entries []entry.Entry) (string, error) {
	list := make([]map[string]entry.Entry, len(entries))
	for i, e := range entries {
		if e == nil || rareKinds[entry.KindOf(e)] == nil {
			return "", fmt.Errorf("entry %d: %T is no rare kind of entry", i, e)
		}
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

func packRare(e entry.Entry) (string, error) {
	text, err := json.Marshal(e)
	return string(text), err
}

func unpackRare(kind entry.Kind, text string) (entry.Entry, error) {
	unpack := rareKinds[kind]
	if unpack == nil {
		return nil, fmt.Errorf("kind %q: %w", kind, ErrUnknown)
	}
	return unpack(kind, text)
}

// decode refuses fields that it does not know: a newer version that adds one means something by it.
func decode[E entry.Entry](kind entry.Kind, text string) (entry.Entry, error) {
	var e E
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		return nil, fmt.Errorf("kind %q: %w: %w", kind, ErrUnknown, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("kind %q: more than one value: %w", kind, ErrBroken)
	}
	return e, nil
}

// checkRare refuses an entry with a text that jsonb does not keep as it is.
func checkRare(e entry.Entry) error {
	v := reflect.ValueOf(e)
	if v.Kind() != reflect.Struct || rareKinds[entry.KindOf(e)] == nil {
		return fmt.Errorf("%T is no kind of entry", e)
	}
	if a, ok := e.(entry.Adopted); ok {
		a.Site = nil // it is not written
		v = reflect.ValueOf(a)
	}
	return checkStrings(v)
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
