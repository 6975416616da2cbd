package wire

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/internal/site/strict"
)

// Bounds of a body: as it comes, and unpacked. The largest are final updates with a job report.
const (
	maxBody     = 8 << 20
	MaxUnpacked = 32 << 20
	MaxValues   = 500_000 // of JSON: a body of them takes 50 MB and more
)

// Args are the arguments of a call by name. Values are as encoding/json has them, with json.Number; those of forms and
// queries are strings, or lists of strings where a name is given several times.
type Args map[string]any

// Decode reads the arguments of a request: the query of a GET, else the body, which is JSON or a form, packed or not.
// What it is shows in the body itself; pilots say little about it, and not always the truth. Some Harvesters send a GET
// with a form.
func Decode(w http.ResponseWriter, r *http.Request) (Args, error) {
	if said := r.Method == http.MethodGet || r.Method == http.MethodHead; said && (r.URL.RawQuery != "" || r.ContentLength <= 0) {
		return formArgs(r.URL.Query()), nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, fmt.Errorf("the body could not be read: %w", err)
	}
	return Parse(body)
}

// Parse reads a body.
func Parse(body []byte) (Args, error) {
	if bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		var err error
		if body, err = unpack(body); err != nil {
			return nil, err
		}
	}
	body = bytes.TrimSpace(body)
	switch {
	case len(body) == 0:
		return Args{}, nil
	case body[0] == '{':
		return ParseJSON(body)
	case body[0] == '[' || body[0] == '"':
		return nil, errors.New("failed to load JSON: expected an object of arguments")
	}
	values, err := url.ParseQuery(string(body))
	if err != nil || !bytes.ContainsRune(body, '=') {
		return nil, errors.New("failed to load JSON: the body is neither JSON nor a form")
	}
	return formArgs(values), nil
}

func unpack(body []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("the body is broken gzip: %w", err)
	}
	body, err = io.ReadAll(io.LimitReader(z, MaxUnpacked+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the body is broken gzip: %w", err)
	case len(body) > MaxUnpacked:
		return nil, fmt.Errorf("the body unpacks to more than %d bytes", MaxUnpacked)
	}
	return body, nil
}

// ParseJSON reads an object, also where Python wrote figures into it that JSON has not.
func ParseJSON(body []byte) (Args, error) {
	a, err := readObject(body)
	if err != nil {
		if numbered := noNumbers(body); !bytes.Equal(numbered, body) {
			return readObject(numbered)
		}
	}
	return a, err
}

func readObject(body []byte) (a Args, err error) {
	if strict.ManyValues(body, MaxValues) {
		return nil, fmt.Errorf("failed to load JSON: more than %d values", MaxValues)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&a); err != nil {
		return nil, fmt.Errorf("failed to load JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("failed to load JSON: something follows the object")
	}
	return a, nil
}

// notNumbers fits a string, so that none is looked into, or what Python writes for a float that is no number.
var notNumbers = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?Infinity|NaN`)

// noNumbers has null where Python's json writes NaN and Infinity, which it reads too: a figure that a pilot could not
// make out is no reason to lose its last word.
func noNumbers(body []byte) []byte {
	return notNumbers.ReplaceAllFunc(body, func(found []byte) []byte {
		if found[0] == '"' {
			return found
		}
		return []byte("null")
	})
}

// formArgs takes the values of a form or a query. PHP's way to write a list, name[]=, is a list too, and goes before a
// plain one of the name.
func formArgs(values url.Values) Args {
	a := Args{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		vs := values[name]
		short, list := strings.CutSuffix(name, "[]")
		if len(vs) == 1 && !list {
			a[name] = vs[0]
			continue
		}
		all := make([]any, len(vs))
		for i, v := range vs {
			all[i] = v
		}
		a[short] = all
	}
	return a
}
