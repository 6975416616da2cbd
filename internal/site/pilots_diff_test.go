package site

import (
	"testing"
)

// A change of who may pull is a change of the site, and says so.
func TestPilotsDiffer(t *testing.T) {
	parse := func(pilots string) *Site {
		s, err := Parse("f", []byte("shares: [{name: A}]\nqueues: [{name: q"+pilots+"}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	c := diff(parse(""), parse(", pilots: [token:cern, vo:atlas]"))
	if len(c.Queues) != 1 || c.Queues[0].String() != "queue q: pilots – → token:cern, vo:atlas" {
		t.Errorf("%+v", c.Queues)
	}
}
