package resource

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/shares"
)

// drawTemplates are templates of a task or a site, some of names that others have too.
func drawTemplates(t *rapid.T, label string, names []string) (ts []shares.ClaimTemplate) {
	for _, name := range names {
		if rapid.IntRange(0, 2).Draw(t, label+name) == 0 {
			continue
		}
		one := shares.ClaimTemplate{Name: name, MaxSharers: rapid.IntRange(0, 3).Draw(t, "max_sharers"),
			Linger: time.Duration(rapid.IntRange(0, 2).Draw(t, "linger")) * time.Minute}
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0:
			one.Resources = map[string]int64{"maya": int64(rapid.IntRange(1, 3).Draw(t, "units"))}
		case 1:
			one.Node, one.Resources = true, map[string]int64{"gpu": 2}
		case 2:
			one.Devices = map[string]int{"gpu": rapid.IntRange(1, 2).Draw(t, "devices")}
		case 3:
			one.Node = true
		}
		ts = append(ts, one)
	}
	return ts
}

var propertyTemplates = []string{"t", "u", "v"}

func drawSharing(t *rapid.T, members []string) (entries []Sharing) {
	for range rapid.IntRange(0, 2).Draw(t, "entries") {
		s := Sharing{Template: rapid.SampledFrom(propertyTemplates).Draw(t, "template"), Scope: rapid.SampledFrom([]Scope{All, PerReplica}).Draw(t, "scope")}
		if rapid.IntRange(0, 5).Draw(t, "outside") == 0 {
			s = Sharing{Claim: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "claim")}
		}
		if len(members) > 0 && rapid.Bool().Draw(t, "some only") {
			s.Only = rapid.SliceOfNDistinct(rapid.SampledFrom(members), 1, len(members), rapid.ID).Draw(t, "only")
		}
		entries = append(entries, s)
	}
	return entries
}

func drawRoles(t *rapid.T, names []string) (roles []Role) {
	for _, name := range names {
		roles = append(roles, Role{Name: name, Count: rapid.IntRange(0, 3).Draw(t, "count"), Sharing: drawSharing(t, nil)})
	}
	return roles
}

// drawLayout is a small layout that Validate passes.
func drawLayout(t *rapid.T) Layout {
	l := Layout{Replicas: rapid.IntRange(0, 3).Draw(t, "replicas"), Templates: drawTemplates(t, "own ", propertyTemplates[:2])}
	for i := range rapid.IntRange(0, 2).Draw(t, "groups") {
		g := Group{Name: fmt.Sprint("g", i), Replicas: rapid.IntRange(0, 3).Draw(t, "group replicas")}
		g.Members = drawRoles(t, []string{"a", "b"}[:rapid.IntRange(1, 2).Draw(t, "members")])
		g.Sharing = drawSharing(t, roleNames(g.Members))
		l.Groups = append(l.Groups, g)
	}
	l.Roles = drawRoles(t, []string{"m", "n"}[:rapid.IntRange(0, 2).Draw(t, "roles")])
	l.Sharing = drawSharing(t, l.children())
	if l.Validate() != nil {
		t.Skip("no layout")
	}
	return l
}

// drawScaled is the layout with other numbers here and there.
func drawScaled(t *rapid.T, l Layout) Layout {
	names := append([]string{""}, l.children()...)
	for _, g := range l.Groups {
		for _, m := range g.Members {
			names = append(names, g.Name+"/"+m.Name)
		}
	}
	for range rapid.IntRange(1, 3).Draw(t, "scalings") {
		var err error
		if l, err = l.Scaled(rapid.SampledFrom(names).Draw(t, "what"), rapid.IntRange(0, 4).Draw(t, "to")); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// What §5's table counts, on any layout; what scaling makes of it; and how a retry finds its claims.
func TestExpandProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := drawLayout(t)
		to := drawScaled(t, from)
		e := Expand(from)
		jobs, claims := from.Size()
		made := 0
		names := map[string]bool{}
		for i, n := range e.Sharers() {
			key := e.Claims[i]
			if n == 0 || names[key.Name()] {
				t.Fatalf("%s: %d sharers, or twice", key.Name(), n)
			}
			names[key.Name()] = true
			if !key.External {
				made++
			}
		}
		if int64(len(e.Jobs)) != jobs || int64(made) > claims {
			t.Fatalf("%d jobs and %d claims, Size says %d and %d", len(e.Jobs), made, jobs, claims)
		}
		for _, j := range e.Jobs {
			if names[j.Name()+"/"] {
				t.Fatalf("two jobs %s", j.Name())
			}
			names[j.Name()+"/"] = true
			if back, err := ParseJobKey(j.Name()); err != nil || back != j.JobKey {
				t.Fatalf("%s is %+v, %v", j.Name(), back, err)
			}
		}
		checkScale(t, from, to)
		checkCrowds(t, from)
	})
}

// checkCrowds: claims of one entry have as many sharers each as is counted without making them.
func checkCrowds(t *rapid.T, l Layout) {
	n, at := 0, map[string]int64{}
	own := func(entries []Sharing) []Sharing { // a template of its own for each
		entries = slices.Clone(entries)
		for i := range entries {
			n++
			if entries[i].Claim == "" {
				entries[i].Template = fmt.Sprint("t", n)
			}
		}
		return entries
	}
	l = l.withEntries(own)
	l.crowds(func(s sharedBy) { at[s.Template] = s.each })
	e := Expand(l)
	for i, sharers := range e.Sharers() {
		if key := e.Claims[i]; !key.External && at[key.Template] != int64(sharers) {
			t.Fatalf("%s: %d sharers, counted %d", key.Name(), sharers, at[key.Template])
		}
	}
}

// withEntries is a copy of the layout with other entries.
func (l Layout) withEntries(entries func([]Sharing) []Sharing) Layout {
	roles := func(roles []Role) []Role {
		roles = slices.Clone(roles)
		for i := range roles {
			roles[i].Sharing = entries(roles[i].Sharing)
		}
		return roles
	}
	l.Sharing, l.Roles, l.Groups = entries(l.Sharing), roles(l.Roles), slices.Clone(l.Groups)
	for i := range l.Groups {
		l.Groups[i].Sharing, l.Groups[i].Members = entries(l.Groups[i].Sharing), roles(l.Groups[i].Members)
	}
	return l
}

// checkScale: what stays is in the same order in both, and nothing is both new and old.
func checkScale(t *rapid.T, from, to Layout) {
	c, err := Scale(from, to)
	if err != nil {
		t.Fatal(err)
	}
	before, after := Expand(from), Expand(to)
	if d := cmp.Diff(after, c.To); d != "" {
		t.Fatal(d)
	}
	claimKey := func(k ClaimKey) string { return k.Name() }
	checkSides(t, keysOf(before.Claims, claimKey), keysOf(after.Claims, claimKey), keysOf(c.Drains, claimKey), keysAt(after.Claims, c.Claims, claimKey))
	jobKey := func(j Job) string { return j.Name() }
	checkSides(t, keysOf(before.Jobs, jobKey), keysOf(after.Jobs, jobKey), keysOf(c.Leaving, JobKey.Name), keysAt(after.Jobs, c.Jobs, jobKey))
	if changed := from; len(changed.Roles) > 0 {
		changed.Roles = append([]Role{{Name: "new"}}, changed.Roles...)
		if _, err := Scale(from, changed); !errors.Is(err, ErrNotScaled) {
			t.Fatalf("another role: %v", err)
		}
	}
}

func keysOf[T any](list []T, key func(T) string) (keys []string) {
	for _, v := range list {
		keys = append(keys, key(v))
	}
	return keys
}

func keysAt[T any](list []T, at []int32, key func(T) string) (keys []string) {
	for _, i := range at {
		keys = append(keys, key(list[i]))
	}
	return keys
}

func checkSides(t *rapid.T, before, after, gone, added []string) {
	without := func(list, leave []string) (kept []string) {
		left := map[string]bool{}
		for _, k := range leave {
			left[k] = true
		}
		for _, k := range list {
			if !left[k] && len(k) > 0 && k[0] != 'c' { // claims made outside are neither new nor gone
				kept = append(kept, k)
			}
		}
		return kept
	}
	if d := cmp.Diff(without(before, gone), without(after, added)); d != "" {
		t.Fatalf("what stays: %s", d)
	}
	was := map[string]bool{}
	for _, k := range before {
		was[k] = true
	}
	for _, k := range added {
		if was[k] {
			t.Fatalf("%s is not new", k)
		}
	}
}

// Whatever happens to the claims of a task, a recount agrees.
func TestClaimsStateMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		site := drawTemplates(t, "site ", propertyTemplates)
		at := rapid.SampledFrom([]Place{{"Q", "n1"}, {"Q", "n2"}, {"R", "n1"}, {"Q", ""}})
		w := newWorld(drawLayout(t), site, map[string]Claim{
			"x": OutsideClaim(Place{"Q", "n1"}, []string{"gpu:3"}, 2), "y": OutsideClaim(Place{}, nil, 0)})
		was := map[*worldClaim]ClaimState{}
		some := func(state string) *worldJob {
			var of []*worldJob
			for _, j := range w.jobs {
				if j.state == state {
					of = append(of, j)
				}
			}
			if len(of) == 0 {
				t.Skip("no such job")
			}
			return rapid.SampledFrom(of).Draw(t, state)
		}
		ok := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"pull": func(t *rapid.T) {
				o := Offer{at.Draw(t, "at"), []string{"gpu:0", "gpu:1", "gpu:2", "gpu:3"}}
				j := some("ready")
				if err := w.pull(j, o, Payer{shares.ShareID(rapid.IntRange(1, 2).Draw(t, "leaf")), "u"}); err == nil {
					return
				} else if len(err.Error()) > 8 && err.Error()[:8] == "admitted" {
					t.Fatal(err)
				}
			},
			"end":       func(t *rapid.T) { ok(w.end(some("running"), Ended, rapid.Bool().Draw(t, "again"))) },
			"lose":      func(t *rapid.T) { ok(w.end(some("running"), Lost, rapid.Bool().Draw(t, "again"))) },
			"scale":     func(t *rapid.T) { _, err := w.scale(drawScaled(t, w.layout)); ok(err) },
			"wait":      func(t *rapid.T) { ok(w.pass(time.Duration(rapid.IntRange(1, 90).Draw(t, "seconds")) * time.Second)) },
			"node lost": func(t *rapid.T) { ok(w.nodeLost(at.Draw(t, "node"))) },
			"retry": func(t *rapid.T) {
				j := some("over")
				if _, ok := w.keysOf(j.JobKey); !ok || w.job(j.JobKey).state != "over" {
					t.Skip("no such piece")
				}
				_, err := w.retry(j)
				ok(err)
			},
			"site": func(t *rapid.T) {
				w.site = drawTemplates(t, "site ", propertyTemplates)
				lifeStep{Set: []yamlTemplate{}}.site(w)
			},
			"": func(t *rapid.T) {
				ok(w.recount())
				for _, c := range w.claims {
					if was[c] == ClaimReleased && c.State != ClaimReleased || was[c] == ClaimDraining && c.State != ClaimDraining && c.State != ClaimReleased {
						t.Fatalf("%s was %s and is %s", c.key.Name(), was[c], c.State)
					}
					was[c] = c.State
				}
			},
		})
	})
}
