package api

import (
	"reflect"

	"github.com/divvyhq/divvy/generator"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/internal/access"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/tagging"
)

// schemaNames are the names in the document of types whose Go name is short because its package says the rest,
// or is the same in two packages.
var schemaNames = map[reflect.Type]string{
	reflect.TypeFor[spec.Spec]():          "TaskSpec",
	reflect.TypeFor[spec.Requirements]():  "TaskRequirements",
	reflect.TypeFor[spec.Events]():        "TaskEvents",
	reflect.TypeFor[generator.Change]():   "TaskChange",
	reflect.TypeFor[spec.Group]():         "TaskGroup",
	reflect.TypeFor[spec.Member]():        "TaskMember",
	reflect.TypeFor[spec.Sharing]():       "TaskSharing",
	reflect.TypeFor[spec.ClaimTemplate](): "TaskClaimTemplate",
	reflect.TypeFor[tagging.Result]():     "TagResult",
	reflect.TypeFor[tagging.Step]():       "TagStep",
	reflect.TypeFor[tagging.Check]():      "TagCheck",
	reflect.TypeFor[shares.Change]():      "ShareChange",
	reflect.TypeFor[site.Changes]():       "SiteChanges",
	reflect.TypeFor[site.Head]():          "SiteHead",
	reflect.TypeFor[site.Live]():          "LiveWork",
	reflect.TypeFor[access.New]():         "NewToken",
	reflect.TypeFor[access.Made]():        "MadeToken",
}
