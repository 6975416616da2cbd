package machine

import (
	"os"
	"testing"

	"github.com/divvyhq/divvy/dispatcher/tape"
	"github.com/divvyhq/divvy/shares"
)

func TestDbg(t *testing.T) {
	f, _ := os.Open("../tape/testdata/resources.jsonl.gz")
	entries, _ := tape.Read(f)
	p := &player{unfilled: map[string]map[string]shares.Units{}}
	for i, e := range entries {
		if i+1 == 710 {
			for _, b := range p.m.buffers {
				if b.shape.id == 19 && b.leaf == 1 {
					t.Log(b.Count(), b.asked, b.opened, len(b.bundles))
					for at, bu := range b.bundles {
						ok, why := bu.Explain(p.m.moment)
						t.Log(at, ok, why)
						u, is := bu.Booked()
						t.Log("booked", u, is, p.m.moment)
					}
					for _, h := range b.group.heads {
						for name, l := range h.lots {
							t.Logf("lot %q out %v parked %d in %d", name, l.out != nil, len(l.parked), len(l.in.list))
							if at, ok := l.parked[b]; ok {
								t.Log(at.by.key, at.key, at.by.why, at.by.until)
							}
						}
					}
				}
			}
			for k, s := range p.m.supplies.by {
				t.Log(k, s.book.Held(), s.book.Usable(), s.book.Allowances(), s.eased)
			}
		}
		if wrong := p.play(t, e); wrong != "" {
			t.Fatal(i+1, wrong)
		}
	}
}
