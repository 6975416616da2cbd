package house_test

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/tagging"
)

// docs/files.md names every key that a site file or a task file may have, and its examples are valid.
func TestFilesPage(t *testing.T) {
	page := read(t, "docs/files.md")
	named := map[string]bool{}
	for _, code := range regexp.MustCompile("`[^`\n]+`").FindAllString(page, -1) {
		for _, word := range regexp.MustCompile(`[a-z_]+`).FindAllString(code, -1) {
			named[word] = true
		}
	}
	for _, of := range []any{shares.Plan{}, shares.Reclaim{}, shares.Aging{}, shares.Window{}, spec.Spec{}, spec.Requirements{}, spec.Events{},
		spec.Group{}, spec.Member{}, spec.Sharing{}, spec.ClaimTemplate{}, spec.Need{}} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(of)) {
			if key, _, _ := strings.Cut(f.Tag.Get("json"), ","); !f.Anonymous && !named[key] {
				t.Errorf("%T: the page does not name %s", of, key)
			}
		}
	}
	for _, attribute := range tagging.Fields {
		if !named[attribute] {
			t.Errorf("the page does not name the attribute %s", attribute)
		}
	}
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(examples) != 4 {
		t.Fatalf("%d examples, want a site, two tasks and a chain of them", len(examples))
	}
	if _, err := site.Parse("site.yml", []byte(examples[0][1])); err != nil {
		t.Error(err)
	}
	for _, task := range examples[1:] {
		if _, err := spec.ParseSpecs("tasks.yml", []byte(task[1])); err != nil {
			t.Error(err)
		}
	}
}
