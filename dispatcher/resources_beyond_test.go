package dispatcher

import (
	"testing"

	"github.com/divvyhq/divvy/shares"
)

// A11: nothing is kept for jobs that ask for more units than there are. When there are as many, it is their turn.
func TestMoreUnitsThanThereAre(t *testing.T) {
	f := scarceSite(t, 100, units("maya", 4))
	d := f.daemon()
	carols := f.want("carol", 2, map[string]int64{"maya": 6})
	f.want("bob", 30, maya)
	takeAll(t, d, "q")
	f.holds("while there are four", map[string]int{"bob": 4})
	e, err := d.Explain(t.Context(), carols[0])
	if why := "it needs 6 units of maya, and there are 4 in all: no end of a job helps"; err != nil || e.Gate != GateResourceCapacity || e.Queues[0].Reason != why {
		t.Errorf("%+v, %v: want %s", e, err, why)
	}
	f.apply(func(v *shares.Version) {
		v.Resources = []shares.Resource{units("maya", 4)}
		v.Resources[0].Live = []shares.LiveCapacity{{Capacity: 12}}
	})
	takeAll(t, d, "q")
	f.holds("when there are twelve", map[string]int{"bob": 6, "carol": 1})
	f.recount()
}
