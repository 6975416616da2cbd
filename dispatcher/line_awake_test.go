package dispatcher

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Whoever waits longest is looked at first, however classes sleep and wake: with many of them, and jobs that come by the read,
// the last one in turn would get nothing for as long as others ask.
func TestOldestPullIsLookedAtFirst(t *testing.T) {
	const n = 100
	l, d := newLine(), &Dispatcher{state: &state{}}
	for _, i := range rand.Perm(n) {
		for later := range 2 {
			l.add(d, &pull{class: fmt.Sprint(i), number: int64(i + later*n)})
		}
	}
	order := func() (numbers []int64) {
		for len(l.awake) > 0 {
			c := l.first()
			p := c.pulls.Front().Value.(*pull)
			numbers = append(numbers, p.number)
			c.blocked = true
		}
		return numbers
	}
	for round := range 3 {
		if got := order(); len(got) != n || !slices.IsSorted(got) {
			t.Fatalf("round %d: %v", round, got)
		}
		l.unblock(d, nil)
	}
	for _, c := range l.classes {
		c.awake, c.blocked = false, false
		if i := c.pulls.Front().Value.(*pull).number; i%2 == 0 {
			l.remove(c.pulls.Front().Value.(*pull)) // its second one is a later one than any first
		}
	}
	l.awake = nil
	l.stir(func(*class) bool { return true })
	if got := order(); len(got) != n || !slices.IsSorted(got) || got[n/2-1] >= n || got[n/2] < n {
		t.Errorf("after half of the first were served: %v", got)
	}
}
