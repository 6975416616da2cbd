package file

import (
	"fmt"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares"
)

// claimTemplate is a claim template as the file has it.
type claimTemplate struct {
	shares.ClaimTemplate
	at strict.Value
}

// Start makes it a template that says nothing.
func (t *claimTemplate) Start(v strict.Value) { t.at, t.Linger = v, shares.DefaultLinger }

// addTemplates checks templates in themselves, and what they ask for against the resources of the file, if these could be read.
func (s *Content) addTemplates(templates []claimTemplate, resources strict.Value) {
	names := make([]string, len(s.Resources))
	for i, r := range s.Resources {
		names[i] = r.Name
	}
	for _, t := range templates {
		t.check()
		for ref := range t.Resources {
			if !resources.Failed() {
				checkReference(t.at.At("resources").Key(ref), ref, s.Resources, names)
			}
		}
		s.ClaimTemplates = append(s.ClaimTemplates, t.ClaimTemplate)
	}
}

func (t *claimTemplate) check() {
	if !t.at.IsMapping() || t.at.Failed() {
		return
	}
	local := t.Node || len(t.Devices) > 0
	switch {
	case !local && len(t.Resources) == 0:
		t.at.Fail("the template takes nothing", "resources: {maya: 1}, node: true or devices: {gpu: 1}")
	case t.at.Has("node") && !t.Node && len(t.Devices) > 0:
		t.at.At("node").Fail("devices are those of a node", "leave node out")
	case t.Gang && !local:
		t.at.At("gang").Fail("gang is for claims that are bound to a node", "add node: true, or devices")
	}
}

// checkReference refuses what no resource of the file is.
func checkReference(at strict.Value, ref string, resources []shares.Resource, names []string) {
	name, key := shares.CutResource(ref)
	i := slices.Index(names, name)
	switch {
	case i < 0:
		hint := strict.DidYouMean(name, names)
		if len(names) == 0 {
			hint = "the file has no resources:"
		}
		at.Fail(fmt.Sprintf("no resource is called %q", name), hint)
	case resources[i].Keyed && key == "":
		at.Fail(fmt.Sprintf("%s is a keyed family", name), "write which one, as in "+name+":orders")
	case !resources[i].Keyed && strings.Contains(ref, ":"):
		at.Fail(fmt.Sprintf("%s is not keyed", name), "leave out what follows the name, or make it keyed: true")
	}
}
