package problem

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"

	"github.com/divvyhq/divvy/api/wire"
)

// OfBody says why a body could not be read.
func OfBody(err error) error {
	var large *http.MaxBytesError
	var network net.Error
	switch {
	case errors.As(err, &large):
		return New(TooLarge, fmt.Sprintf("at most %d bytes", large.Limit))
	case errors.As(err, &network) && network.Timeout():
		return New(SlowBody, "")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return New(Gone, "")
	}
	return err
}

// OfJSON tells a body that is not JSON (400, with line and column) from a field of the wrong type (422).
func OfJSON(body []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return New(NoBody, "")
	case errors.As(err, &kind):
		p := New(Invalid, "")
		location := "body"
		if kind.Field != "" {
			location += "." + kind.Field
		}
		p.Errors = []wire.Detail{{Location: location, Message: fmt.Sprintf("expected %s, found %s", jsonKind(kind.Type.Kind()), kind.Value)}}
		return p
	case errors.As(err, &syntax):
		before := body[:min(int64(len(body)), syntax.Offset)]
		line := 1 + bytes.Count(before, []byte("\n"))
		column := len(before) - (bytes.LastIndexByte(before, '\n') + 1)
		return New(BadJSON, fmt.Sprintf("line %d, column %d: %v", line, column, err))
	}
	return New(BadJSON, err.Error())
}

// jsonKind is what JSON calls a Go kind.
func jsonKind(k reflect.Kind) string {
	switch k {
	case reflect.Bool:
		return "a boolean"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "an integer"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "an integer of at least 0"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "a list"
	}
	return "an object"
}
