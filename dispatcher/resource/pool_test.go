package resource

import "testing"

func TestFirst(t *testing.T) {
	for _, c := range []struct {
		units int64
		want  map[string]int64
		held  map[string]int64
		out   map[string]int64
	}{
		{5, map[string]int64{"a": 100, "b": 100}, nil, map[string]int64{"a": 3, "b": 2}},
		{7, map[string]int64{"a": 100, "b": 100, "c": 100}, nil, map[string]int64{"a": 3, "b": 2, "c": 2}},
		{10, map[string]int64{"a": 2, "b": 20}, nil, map[string]int64{"a": 2, "b": 8}},
		{3, map[string]int64{"a": 2, "b": 20, "c": 1, "d": 2, "e": 1}, map[string]int64{"d": 1}, map[string]int64{"a": 1, "b": 1, "c": 0, "d": 1, "e": 0}},
	} {
		p := NewPool(Spec{Name: "r", Capacity: c.units})
		for id, n := range c.want {
			p.Want(id, n)
		}
		for id, n := range c.held {
			p.Hold(id, n)
		}
		for _, a := range p.Allowances() {
			if a.Allowance != c.out[a.ID] {
				t.Errorf("%v: %+v want %d", c, a, c.out[a.ID])
			}
		}
	}
}
