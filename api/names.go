package api

import (
	"reflect"

	"github.com/divvyhq/divvy/generator"
)

// schemaNames are the names in the document of types whose Go name is short because its package says the rest,
// or is the same in two packages.
var schemaNames = map[reflect.Type]string{
	reflect.TypeFor[generator.Spec]():         "TaskSpec",
	reflect.TypeFor[generator.Requirements](): "TaskRequirements",
	reflect.TypeFor[generator.Events]():       "TaskEvents",
	reflect.TypeFor[generator.Change]():       "TaskChange",
}
