package gate

import (
	"fmt"
	"testing"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/shares"
)

// BenchmarkAdopt is a version of the site beside 100,000 claims, of which some waited for a template that it has.
func BenchmarkAdopt(b *testing.B) {
	for _, waiting := range []int64{0, 10_000} {
		b.Run(fmt.Sprint(waiting), func(b *testing.B) {
			for range b.N {
				b.StopTimer()
				cs := NewClaims()
				for id := range int64(100_000) {
					e := entry.Claimed{Claim: id + 1, Task: 1, Key: fmt.Sprint(id), Jobs: 1, Missing: id < waiting, Template: shares.ClaimTemplate{Name: "t"}}
					if _, err := cs.Apply(e, func(shares.QueueID) string { return "" }); err != nil {
						b.Fatal(err)
					}
				}
				e := entry.Adopted{Site: &shares.Version{ClaimTemplates: []shares.ClaimTemplate{{Name: "t"}}}}
				b.StartTimer()
				if _, err := cs.Apply(e, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
