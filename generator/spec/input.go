package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Input is one input of a task. Only its name is needed: it is then written as a text. The rest says how large it is and where
// copies of it are, for splitting and for the choice of queues.
type Input struct {
	Name      string   `json:"name" is:"required"`
	Size      int64    `json:"size,omitempty" is:"..1152921504606846976" minimum:"0" doc:"Bytes; 0 = not known."`
	Events    int64    `json:"events,omitempty" is:"..1125899906842624" minimum:"0" doc:"How many events are in it; 0 = not known."`
	Locations []string `json:"locations,omitempty" is:"empty" maxItems:"50" doc:"Storages that have a copy of it, as queues[].locations names them."`
}

// Named are inputs of which nothing but the names is known.
func Named(names ...string) []Input {
	inputs := make([]Input, len(names))
	for i, name := range names {
		inputs[i].Name = name
	}
	return inputs
}

// Bounds of the locations of an input.
const (
	maxLocations = 50 // storages of an input
	maxSize      = 1 << 60
)

// plainInput is Input without its ways of writing.
type plainInput Input

// MarshalJSON writes a text where only the name is known.
func (in Input) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	var err error
	if in.Size == 0 && in.Events == 0 && len(in.Locations) == 0 {
		err = e.Encode(in.Name)
	} else {
		err = e.Encode(plainInput(in))
	}
	return bytes.TrimSpace(out.Bytes()), err
}

// UnmarshalJSON reads a text or an object.
func (in *Input) UnmarshalJSON(text []byte) error {
	*in = Input{}
	if text = bytes.TrimSpace(text); len(text) == 0 || text[0] != '{' {
		return json.Unmarshal(text, &in.Name)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode((*plainInput)(in)); err != nil {
		return err
	}
	if d.More() {
		return errors.New("something follows the object")
	}
	return nil
}

// check refuses what no job could be given, and writes the locations in one way: sorted, each once.
func (in *Input) check() error {
	if err := CheckInput(in.Name); err != nil {
		return err
	}
	switch {
	case in.Size < 0 || in.Size > maxSize:
		return fmt.Errorf("size %d is not in 0 … %d", in.Size, maxSize)
	case in.Events < 0 || in.Events > maxEvents:
		return fmt.Errorf("events %d is not in 0 … %d", in.Events, int64(maxEvents))
	case len(in.Locations) > maxLocations:
		return fmt.Errorf("has more than %d locations", maxLocations)
	case len(in.Locations) == 0:
		in.Locations = nil
		return nil
	}
	for _, l := range in.Locations {
		if wrong, _ := word(l); l == "" || wrong != "" {
			return fmt.Errorf("%.60q is not the name of a location", l)
		}
	}
	if !slices.IsSorted(in.Locations) {
		in.Locations = slices.Sorted(slices.Values(in.Locations))
	}
	in.Locations = slices.Compact(in.Locations)
	return nil
}
