package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// strictJSON is how bodies of all routes but the pilots' are read and answered.
var strictJSON = huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: unmarshalOnce}

// unmarshalOnce is json.Unmarshal that refuses a key given twice, of which encoding/json would take the last: in a task's env
// whoever wrote the first one would not notice. YAML is as strict. huma reads a body twice, into an any, to be checked by its
// schema, and then into what the route takes; only the second time is it looked at, so that the answer is 422 as for other
// values that cannot be.
func unmarshalOnce(text []byte, v any) error {
	if err := json.Unmarshal(text, v); err != nil {
		return err
	}
	if _, first := v.(*any); first {
		return nil
	}
	return onlyOnce(text)
}

// open is an object or list of a JSON text whose end is still to come.
type open struct {
	keys  map[string]bool // of an object so far; nil: a list
	key   string          // that the next value is of; "" in an object: a key is next
	named bool            // a value is next, and key is its name
	index int             // of the next value of a list
}

// onlyOnce is an error when an object in the text, which is JSON, has a key twice.
func onlyOnce(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var path []open
	for {
		token, err := d.Token()
		if err != nil {
			return nil // io.EOF: that it is JSON is known already
		}
		delim, isDelim := token.(json.Delim)
		if isDelim && (delim == '}' || delim == ']') {
			path = path[:len(path)-1]
		} else if n := len(path) - 1; n >= 0 && path[n].keys != nil && !path[n].named {
			in, key := &path[n], token.(string)
			if in.keys[key] {
				return fmt.Errorf("key %.100q is given twice in %s; say it once", key, place(path[:n]))
			}
			in.keys[key], in.key, in.named = true, key, true
			continue
		} else if isDelim {
			begun := open{}
			if delim == '{' {
				begun.keys = map[string]bool{}
			}
			path = append(path, begun)
			continue
		}
		if n := len(path) - 1; n >= 0 { // a value has ended
			path[n].named = false
			path[n].index++
		}
	}
}

// place is where in the body the innermost of them is.
func place(path []open) string {
	b := strings.Builder{}
	b.WriteString("body")
	for _, in := range path {
		if in.keys != nil {
			fmt.Fprintf(&b, ".%.100s", in.key)
		} else {
			b.WriteString("[" + strconv.Itoa(in.index) + "]")
		}
	}
	return b.String()
}
