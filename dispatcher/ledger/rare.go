package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// The entries that are jsonb, by the names of their fields there. Each has the fields of its type in package entry, or the
// conversions below do not compile.
type (
	enqueued struct {
		Task  int64          `json:"task"`
		Share shares.ShareID `json:"share"`
		Shape int32          `json:"shape"`
		Place int64          `json:"place"`
		Low   int64          `json:"low"`
		High  int64          `json:"high"`
		N     int64          `json:"n"`
	}
	withdrew enqueued
	revoked  struct {
		Job     int64  `json:"job"`
		Attempt int32  `json:"attempt"`
		Reason  string `json:"reason"`
		GraceS  int32  `json:"grace_s"`
	}
	adopted struct {
		Number int64           `json:"number"`
		Site   *shares.Version `json:"-"`
	}
	leader struct {
		Address string `json:"address"`
	}
	tick struct{}
)

func packRare(e entry.Entry) (string, error) {
	var shape any
	switch e := e.(type) {
	case entry.Enqueued:
		shape = enqueued(e)
	case entry.Withdrew:
		shape = withdrew(e)
	case entry.Revoked:
		shape = revoked(e)
	case entry.Adopted:
		shape = adopted(e)
	case entry.Leader:
		shape = leader(e)
	case entry.Tick:
		shape = tick(e)
	default:
		return "", fmt.Errorf("%T is no kind of entry", e)
	}
	text, err := json.Marshal(shape)
	return string(text), err
}

func unpackRare(kind entry.Kind, text string) (entry.Entry, error) {
	switch kind {
	case entry.KindEnqueued:
		v, err := decode[enqueued](kind, text)
		return entry.Enqueued(v), err
	case entry.KindWithdrew:
		v, err := decode[withdrew](kind, text)
		return entry.Withdrew(v), err
	case entry.KindRevoked:
		v, err := decode[revoked](kind, text)
		return entry.Revoked(v), err
	case entry.KindAdopted:
		v, err := decode[adopted](kind, text)
		return entry.Adopted(v), err
	case entry.KindLeader:
		v, err := decode[leader](kind, text)
		return entry.Leader(v), err
	case entry.KindTick:
		v, err := decode[tick](kind, text)
		return entry.Tick(v), err
	}
	return nil, fmt.Errorf("kind %q: %w", kind, ErrUnknown)
}

// decode refuses fields that it does not know: a newer version that adds one means something by it.
func decode[T any](kind entry.Kind, text string) (v T, err error) {
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return v, fmt.Errorf("kind %q: %w: %w", kind, ErrUnknown, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return v, fmt.Errorf("kind %q: more than one value: %w", kind, ErrBroken)
	}
	return v, nil
}
