package spec

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestOrderOfAFile(t *testing.T) {
	spec := func(name string, needs ...string) Spec {
		s := Spec{Name: name}
		for _, n := range needs {
			s.Needs = append(s.Needs, Need{Name: n})
		}
		return s
	}
	order, err := Order([]Spec{spec("merge", "reco", "sim"), spec("reco", "sim"), spec("sim"), spec("alone")})
	if err != nil || !slices.Equal(order, []int{2, 1, 0, 3}) {
		t.Errorf("%v, %v", order, err)
	}
	bound := spec("reco", "sim").Bound(map[string]int64{"sim": 7})
	if bound.Needs[0] != (Need{Task: 7}) {
		t.Errorf("%+v", bound.Needs)
	}
	for want, specs := range map[string][]Spec{
		"makes a circle: a needs b needs c needs a": {spec("a", "b"), spec("b", "c"), spec("c", "a")},
		"makes a circle: a needs a":                 {spec("a", "a")},
		`no task of this file has the name "x"`:     {spec("a", "x")},
		`2 tasks of this file have the name "a"`:    {spec("a"), spec("a"), spec("b", "a")},
	} {
		if _, err := Order(specs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	const file = "{name: a, user: u, command: [x], count: 1, needs: [{task: b}]}\n---\n" +
		"name: b\nuser: u\ncommand: [x]\ncount: 1\nneeds:\n  - task: 12\n  - {task: a}\n"
	if _, err := ParseSpecs("f.yml", []byte(file)); err == nil || !strings.Contains(err.Error(), "f.yml:9:12: needs[1].task makes a circle: a needs b needs a") {
		t.Errorf("%v", err)
	}
	long := make([]Spec, 10_000)
	for i := range long {
		long[i] = spec(fmt.Sprint(i), fmt.Sprint(i+1))
	}
	long[9999].Needs = nil
	began := time.Now()
	if order, err := Order(long); err != nil || order[0] != 9999 {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}
