package wire

import (
	"bytes"
	"encoding/json"
)

// Input is one input of a task: a text where only its name is known, else an object.
type Input struct {
	Name      string   `json:"name"`
	Size      int64    `json:"size,omitempty"`      // Bytes; 0 = not known.
	Events    int64    `json:"events,omitempty"`    // How many events are in it; 0 = not known.
	Locations []string `json:"locations,omitempty"` // Storages that have a copy of it.
}

type inputObject Input

// MarshalJSON writes a text where only the name is known.
func (in Input) MarshalJSON() ([]byte, error) {
	if in.Size == 0 && in.Events == 0 && len(in.Locations) == 0 {
		return json.Marshal(in.Name)
	}
	return json.Marshal(inputObject(in))
}

// UnmarshalJSON reads a text or an object.
func (in *Input) UnmarshalJSON(text []byte) error {
	*in = Input{}
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		return json.Unmarshal(text, (*inputObject)(in))
	}
	return json.Unmarshal(text, &in.Name)
}

// Named are inputs of which nothing but the names is known.
func Named(names ...string) []Input {
	inputs := make([]Input, len(names))
	for i, name := range names {
		inputs[i].Name = name
	}
	return inputs
}
