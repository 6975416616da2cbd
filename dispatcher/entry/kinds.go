package entry

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
)

// Kind is a letter for each type of entry, as the log's table has it.
type Kind byte

// The kinds that have columns of their own in the log. All others are rare, and JSON there.
const (
	KindGranted Kind = 'g'
	KindStarted Kind = 's'
	KindEnded   Kind = 'e'
)

// KindOf is the letter of an entry.
func KindOf(e Entry) Kind { return e.kind() }

func (Granted) kind() Kind   { return KindGranted }
func (Started) kind() Kind   { return KindStarted }
func (Ended) kind() Kind     { return KindEnded }
func (Enqueued) kind() Kind  { return 'q' }
func (Revoked) kind() Kind   { return 'v' }
func (Expected) kind() Kind  { return 'x' }
func (Shaped) kind() Kind    { return 'h' }
func (Adopted) kind() Kind   { return 'a' }
func (Bounded) kind() Kind   { return 'b' }
func (Polled) kind() Kind    { return 'p' }
func (Leader) kind() Kind    { return 'L' }
func (Tick) kind() Kind      { return 't' }
func (Claimed) kind() Kind   { return 'c' }
func (Unclaimed) kind() Kind { return 'u' }
func (Joined) kind() Kind    { return 'j' }
func (Dropped) kind() Kind   { return 'd' }
func (Took) kind() Kind      { return 'k' }
func (Paused) kind() Kind    { return 'P' }
func (Resumed) kind() Kind   { return 'R' }
func (Killed) kind() Kind    { return 'K' }
func (Placed) kind() Kind    { return 'o' }
func (Moved) kind() Kind     { return 'M' }
func (Closed) kind() Kind    { return 'f' }
func (Capped) kind() Kind    { return 'C' }
func (Reported) kind() Kind  { return 'r' }
func (Holed) kind() Kind     { return 'H' }
func (Owed) kind() Kind      { return 'O' }
func (Stood) kind() Kind     { return 'S' }
func (Asked) kind() Kind     { return 'A' }
func (Lasting) kind() Kind   { return 'l' }
func (Wished) kind() Kind    { return 'W' }
func (Heard) kind() Kind     { return 'E' }

// rare are the types of the rare kinds.
var rare = byKind(
	Enqueued{}, Revoked{}, Expected{}, Shaped{}, Adopted{}, Bounded{}, Polled{}, Leader{}, Tick{}, Claimed{}, Unclaimed{}, Joined{},
	Dropped{}, Took{}, Paused{}, Resumed{}, Killed{}, Placed{}, Moved{}, Closed{}, Capped{}, Reported{}, Holed{}, Owed{}, Stood{},
	Asked{}, Lasting{}, Wished{}, Heard{})

func byKind(entries ...Entry) map[Kind]reflect.Type {
	types := make(map[Kind]reflect.Type, len(entries))
	for _, e := range entries {
		types[e.kind()] = reflect.TypeOf(e)
	}
	return types
}

// IsRare says whether it is an entry, by value, of a rare kind.
func IsRare(e Entry) bool {
	return reflect.ValueOf(e).Kind() == reflect.Struct && rare[e.kind()] != nil
}

// Decode reads an entry of a rare kind from JSON; nil: there is no such kind. It refuses fields that it does not know: a newer version that
// adds one means something by it.
func Decode(kind Kind, text string) (Entry, error) {
	of := rare[kind]
	if of == nil {
		return nil, nil
	}
	e := reflect.New(of)
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(e.Interface())
	if err == nil && d.More() {
		err = errors.New("more than one value")
	}
	if err != nil {
		return nil, err
	}
	return e.Elem().Interface().(Entry), nil
}
