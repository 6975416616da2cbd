package api

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/divvyhq/divvy/generator/spec"
)

// inputSchema describes an input of a task, which is a name or an object.
type inputSchema struct{}

// Schema returns the schema that huma validates; the keys of an object are checked where it is read.
func (inputSchema) Schema(r huma.Registry) *huma.Schema {
	type object spec.Input // without Input's own decoding
	return &huma.Schema{OneOf: []*huma.Schema{
		{Type: huma.TypeString},
		r.Schema(reflect.TypeFor[object](), false, "InputObject"),
	}}
}
