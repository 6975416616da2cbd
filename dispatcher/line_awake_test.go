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

// In a busy class there is always one more to decide, and it never comes to rest. What has left it, served or not, is not kept
// for then: an answered pull has all its leases.
func TestServedPullsAreNotKept(t *testing.T) {
	l, d := newLine(), &Dispatcher{state: &state{}}
	d.line = l
	pulls := make([]*pull, 4)
	for i := range pulls {
		pulls[i] = &pull{class: "q", number: int64(i), hash: []byte{1}, done: make(chan struct{})}
		d.line.add(d, pulls[i])
	}
	c := d.line.classes["q"]
	for _, p := range pulls[:3] {
		d.line.expire(d, p)
	}
	kept := func(want ...*pull) {
		t.Helper()
		overdue := slices.DeleteFunc(slices.Clone(want), func(p *pull) bool { return !p.over })
		if len(c.fresh) != len(want) || len(c.overdue) != len(overdue) || c.pulls.Len() != len(want) {
			t.Fatalf("%d pulls, %d to be looked up, %d overdue, want %d, %d, %d", c.pulls.Len(), len(c.fresh), len(c.overdue), len(want), len(want), len(overdue))
		}
	}
	kept(pulls...)
	d.line.takeOff(c, pulls[0])
	kept(pulls[1:]...)
	d.line.again(d, pulls[0]) // its grant came to nothing
	kept(pulls...)
	d.line.takeOff(c, pulls[0])
	d.finishPull(pulls[0], nil, nil)
	d.line.remove(pulls[1])
	kept(pulls[2:]...)
	c.refuse(d, ErrStopping)
	kept()
}
