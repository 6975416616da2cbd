package spec

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// What is wrong with a task costs no more than to read it: a hundred faults are told, and no part is looked at once for each
// other part.
func TestHostileTasks(t *testing.T) {
	many := func(n int, make func(i int) string) (all []string) {
		for i := range n {
			all = append(all, make(i))
		}
		return all
	}
	wrong := func(i int) string { return fmt.Sprintf("{{.X%d}}", i) }
	grouped := Spec{Name: "n", User: "u", Env: map[string]string{}}
	for i := range 100 {
		grouped.Env[fmt.Sprint("V", i)] = strings.Repeat("x", 1000)
	}
	for i := range 50 {
		g := Group{Name: fmt.Sprint("g", i)}
		for j := range 50 {
			g.Members = append(g.Members, Member{Role: fmt.Sprint("r", j), Command: []string{"a", "b"}})
		}
		grouped.Groups = append(grouped.Groups, g)
	}
	wrongRoles := grouped
	wrongRoles.Groups = nil
	for i := range 20_000 {
		wrongRoles.Roles = append(wrongRoles.Roles, Member{Role: "r", Command: []string{wrong(i)}})
	}
	base := Spec{Name: "n", User: "u", Command: []string{"x"}, Count: 1}
	labels, only, queues, inputs := base, base, base, base
	labels.Labels = map[string]string{}
	for i := range 200 {
		labels.Labels[fmt.Sprint("\x01", i)] = "\x01"
	}
	queues.Queues = many(200, func(i int) string { return fmt.Sprint("[", i) })
	only.Count, only.Roles = 0, []Member{{Role: "r"}}
	only.Sharing = []Sharing{{Claim: "c", Only: many(100_000, func(i int) string { return fmt.Sprint("s", i) })}}
	inputs.Count, inputs.Inputs = 0, make([]Input, 100_000)
	for name, s := range map[string]Spec{"members": grouped, "wrong roles": wrongRoles, "labels": labels, "only": only, "queues": queues, "inputs": inputs} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := s.Check()
		runtime.ReadMemStats(&after)
		var faults Faults
		if errors.As(err, &faults); len(faults) > maxFaults || (name == "members") != (err == nil) {
			t.Errorf("%s: %d faults, %.200v", name, len(faults), err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20 {
			t.Errorf("%s: the look at it took %d MB", name, took>>20)
		}
	}
}
