package site

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/divvyhq/divvy/internal/site/file"
	"github.com/divvyhq/divvy/shares"
)

// EntryChange is one difference between the resources or the claim templates of two sites. What is called otherwise is
// another one.
type EntryChange struct {
	Kind   string `json:"kind" enum:"added,removed,changed"`
	Name   string `json:"name"`
	Field  string `json:"field,omitempty" doc:"Key of the site file, such as capacity or split.weights.alice."`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// Line is the change in words, of an entry of some kind: resource or claim template.
func (c EntryChange) Line(kind string) string {
	if c.Kind == "changed" {
		return fmt.Sprintf("%s %s: %s %s → %s", kind, c.Name, c.Field, cmp.Or(c.Before, "–"), cmp.Or(c.After, "–"))
	}
	return fmt.Sprintf("%s %s %s", kind, c.Name, c.Kind)
}

// entry is a resource or a claim template as text under the keys of the site file, in their order; "" stands for not given.
type entry struct {
	name   string
	fields [][2]string
}

func (e *entry) add(key, value string) { e.fields = append(e.fields, [2]string{key, value}) }

// diffEntries lists what changes: entries of b in their order, then those that are gone.
func diffEntries(a, b []entry) []EntryChange {
	out := []EntryChange{}
	old, kept := map[string]entry{}, map[string]bool{}
	for _, e := range a {
		old[e.name] = e
	}
	for _, e := range b {
		kept[e.name] = true
		was, ok := old[e.name]
		if !ok {
			out = append(out, EntryChange{Kind: "added", Name: e.name})
			continue
		}
		out = append(out, diffFields(e.name, was.fields, e.fields)...)
	}
	for _, e := range a {
		if !kept[e.name] {
			out = append(out, EntryChange{Kind: "removed", Name: e.name})
		}
	}
	return out
}

func diffFields(name string, a, b [][2]string) (out []EntryChange) {
	before, left := map[string]string{}, map[string]bool{}
	for _, f := range a {
		before[f[0]], left[f[0]] = f[1], true
	}
	for _, f := range b {
		delete(left, f[0])
		if before[f[0]] != f[1] {
			out = append(out, EntryChange{Kind: "changed", Name: name, Field: f[0], Before: before[f[0]], After: f[1]})
		}
	}
	for _, f := range a {
		if left[f[0]] && f[1] != "" {
			out = append(out, EntryChange{Kind: "changed", Name: name, Field: f[0], Before: f[1]})
		}
	}
	return out
}

func resourceEntries(all []shares.Resource) []entry {
	out := make([]entry, len(all))
	for i, r := range all {
		e := &out[i]
		e.name = r.Name
		e.add("capacity", strconv.FormatInt(r.Capacity, 10))
		per := "global"
		if r.PerQueue {
			per = "queue"
		}
		e.add("per", per)
		e.add("keyed", strconv.FormatBool(r.Keyed))
		e.add("split.by", r.Split.By)
		for _, id := range slices.Sorted(maps.Keys(r.Split.Weights)) {
			e.add("split.weights."+id, figureText(r.Split.Weights[id]))
		}
		e.addNodes("split.tree", r.Split.Tree)
		e.add("max_bypass", strconv.Itoa(r.MaxBypass))
		e.add("max_hold", r.MaxHold.String())
		e.add("settle", r.Settle.String())
		e.add("external_expires", r.ExternalExpires.String())
		for _, id := range r.Exempt {
			e.add("exempt."+id, "yes")
		}
	}
	return out
}

// addNodes lists a tree by the paths of its nodes.
func (e *entry) addNodes(path string, nodes []shares.SplitNode) {
	for _, n := range nodes {
		at := path + "/" + n.Name
		if len(n.Children) > 0 {
			at += "/" // a group and an ID may have one name
		}
		e.add(at, figureText(n.Weight))
		e.addNodes(path+"/"+n.Name, n.Children)
	}
}

func figureText(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

func templateEntries(all []shares.ClaimTemplate) []entry {
	out := make([]entry, len(all))
	for i, t := range all {
		e := &out[i]
		e.name = t.Name
		for _, name := range slices.Sorted(maps.Keys(t.Resources)) {
			e.add("resources."+name, strconv.FormatInt(t.Resources[name], 10))
		}
		for _, kind := range slices.Sorted(maps.Keys(t.Devices)) {
			e.add("devices."+kind, strconv.Itoa(t.Devices[kind]))
		}
		sharers := ""
		if t.MaxSharers > 0 {
			sharers = strconv.Itoa(t.MaxSharers)
		}
		e.add("node", strconv.FormatBool(t.Node))
		e.add("max_sharers", sharers)
		e.add("linger", t.Linger.String())
		e.add("gang", strconv.FormatBool(t.Gang))
	}
	return out
}

func webhookEntries(all []file.Webhook) []entry {
	out := make([]entry, len(all))
	for i, w := range all {
		e := &out[i]
		e.name = w.Name
		e.add("url", w.URL)
		e.add("secret_file", w.SecretFile)
		e.add("secret_env", w.SecretEnv)
		e.add("events", strings.Join(w.Events, ", "))
		e.add("users", strings.Join(w.Users, ", "))
		e.add("shares", strings.Join(w.Shares, ", "))
	}
	return out
}
