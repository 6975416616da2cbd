package wire

import (
	"encoding/json"
	"fmt"
)

// As is the JSON of v read as a T: a type of the daemon as its shape here, or the other way round. It panics when the two do not
// fit, which no input can cause.
func As[T any](v any) (out T) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(fmt.Sprintf("wire: %T as %T: %v", v, out, err))
	}
	return out
}
