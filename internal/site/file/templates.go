package file

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares"
)

// readTemplates reads the claim templates of the site, which tasks refer to by name.
func readTemplates(v strict.Value) []*template {
	list, _ := v.List()
	if len(list) > maxResources {
		tooMany(v, len(list), maxResources)
		return nil
	}
	all := make([]*template, 0, len(list))
	names := map[string]int{}
	for _, e := range list {
		t := readTemplate(e)
		all = append(all, t)
		once("claim template", t.Name, t.seen, names)
	}
	return all
}

// template is a claim template of the file, and where its parts stand.
type template struct {
	shares.ClaimTemplate
	seen strict.Seen
	refs map[string]strict.Value // what it asks for, by name
}

// Bounds of a claim template.
const (
	maxDevices = 1000
	maxLinger  = 24 * time.Hour
	maxSharers = 1_000_000
)

func readTemplate(v strict.Value) *template {
	t := &template{ClaimTemplate: shares.ClaimTemplate{Linger: shares.DefaultLinger}, refs: map[string]strict.Value{}}
	t.seen = v.Mapping(strict.Fields{
		"name":      func(v strict.Value) { t.Name = readName(v, "/:*?#% \"'", "for instance shared-gpu") },
		"resources": t.readResources,
		"devices":   t.readDevices,
		"node":      func(v strict.Value) { t.Node, _ = v.Bool() },
		"max_sharers": func(v strict.Value) {
			n, _ := v.Int(1, maxSharers)
			t.MaxSharers = int(n)
		},
		"linger": func(v strict.Value) {
			d, ok := v.Duration(0)
			if ok && d > maxLinger {
				v.Failf("linger: %s is more than %s", d, maxLinger)
			} else if ok {
				t.Linger = d
			}
		},
		"gang": func(v strict.Value) { t.Gang, _ = v.Bool() },
	})
	t.seen.Require("name")
	t.check()
	return t
}

func (t *template) readResources(v strict.Value) {
	t.Resources = map[string]int64{}
	v.Entries(func(ref string, key, units strict.Value) {
		t.refs[ref] = key
		t.Resources[ref], _ = units.Int(1, shares.MaxResourceUnits)
	})
}

func (t *template) readDevices(v strict.Value) {
	t.Devices = map[string]int{}
	v.Entries(func(kind string, key, n strict.Value) {
		if readName(key, ":/*?#%=, \"'", "for instance gpu") != "" {
			count, _ := n.Int(1, maxDevices)
			t.Devices[kind] = int(count)
		}
	})
}

func (t *template) check() {
	if !t.seen.IsMapping() || t.seen.Failed() {
		return
	}
	local := t.Node || len(t.Devices) > 0
	switch {
	case !local && len(t.Resources) == 0:
		t.seen.Fail("the template takes nothing", "resources: {maya: 1}, node: true or devices: {gpu: 1}")
	case t.seen.Has("node") && !t.Node && len(t.Devices) > 0:
		t.seen.At("node").Fail("devices are those of a node", "leave node out")
	case t.Gang && !local:
		t.seen.At("gang").Fail("gang is for claims that are bound to a node", "add node: true, or devices")
	}
}

// addTemplates checks what the templates ask for against the resources of the file, if these could be read.
func (s *Content) addTemplates(templates []*template, resources strict.Value) {
	names := make([]string, len(s.Resources))
	for i, r := range s.Resources {
		names[i] = r.Name
	}
	for _, t := range templates {
		for ref, key := range t.refs {
			if !resources.Failed() {
				checkReference(key, ref, s.Resources, names)
			}
		}
		s.ClaimTemplates = append(s.ClaimTemplates, t.ClaimTemplate)
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
