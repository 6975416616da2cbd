package lease

import (
	"runtime"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The wheel says of no lease that it is over before it is due, and of each within a second after that, whatever was renewed meanwhile.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Duration(0)
		d, model, floor := newDeadlines(now), map[int64]time.Duration{}, time.Duration(0)
		own, led := map[int64]time.Duration{}, time.Duration(-1)
		due := func(job int64) time.Duration {
			if led >= 0 && own[job] > 0 {
				return max(model[job], floor, led+own[job])
			}
			return max(model[job], floor)
		}
		span := func(name string, least, most int) time.Duration {
			return time.Duration(rapid.IntRange(least, most).Draw(t, name)) * 100 * time.Millisecond
		}
		for range 200 {
			job := rapid.Int64Range(1, 8).Draw(t, "job")
			switch rapid.IntRange(0, 7).Draw(t, "verb") {
			case 0:
				if _, live := model[job]; !live {
					model[job] = now + span("ttl", 5, 100)
					d.hold(job, model[job])
				}
			case 1:
				if _, live := model[job]; live {
					model[job] = now + span("ttl", 5, 100)
					d.prolong(job, model[job])
				}
			case 2:
				delete(model, job)
				delete(own, job)
				d.drop(job)
			case 4:
				if at, live := model[job]; live && at > now { // as with a renewal
					own[job] = time.Duration(rapid.IntRange(0, 20).Draw(t, "own")) * time.Second
					d.last(job, int32(own[job]/time.Second))
				}
			case 5:
				if rapid.IntRange(0, 9).Draw(t, "dice") == 0 {
					rest := span("rest", 1, 50)
					led, floor = now, max(floor, now+rest)
					d.lead(now, rest)
				}
			case 3:
				if rapid.IntRange(0, 9).Draw(t, "dice") == 0 {
					floor = max(floor, now+span("spare", 1, 100))
					d.spare(floor)
				}
			default:
				now += span("passes", 1, 30)
				for _, job := range d.over(now, 0, 100) {
					_, live := model[job]
					if at := due(job); !live || at > now {
						t.Fatalf("at %v job %d is over: due %v, spared until %v, live %v", now, job, at, floor, live)
					}
					delete(model, job)
					delete(own, job)
					d.drop(job)
				}
				for job := range model {
					if at := due(job); at+2*time.Second <= now {
						t.Fatalf("at %v job %d is not over: due %v, spared until %v", now, job, at, floor)
					}
				}
			}
		}
	})
}

// A follower keeps the wheel turning, and nothing is over there.
func TestDeadlinesOfFollower(t *testing.T) {
	t.Parallel()
	d := newDeadlines(0)
	d.hold(1, 5*time.Second)
	for now := time.Duration(0); now < time.Minute; now += time.Second {
		if jobs := d.over(now, 5*time.Second, 10); len(jobs) > 0 {
			t.Fatalf("at %v: %v", now, jobs)
		}
	}
	d.spare(65 * time.Second)
	for now := time.Minute; now < 64*time.Second; now += time.Second {
		if jobs := d.over(now, 0, 10); len(jobs) > 0 {
			t.Fatalf("at %v: %v, it was spared", now, jobs)
		}
	}
	if jobs := d.over(72*time.Second, 0, 10); len(jobs) != 1 {
		t.Errorf("%v, want the lease", jobs)
	}
}

// A million leases that are due in one second, as after a change of leader, cost each step a little.
func TestDeadlinesAreBounded(t *testing.T) {
	t.Parallel()
	d := newDeadlines(0)
	const leases = 100_000
	for job := range int64(leases) {
		d.hold(job, time.Second)
	}
	d.spare(time.Minute)
	steps, at := 0, 2*time.Second
	for ; d.wake() <= at; steps++ {
		d.over(at, 0, 1000)
	}
	if steps < leases/lookAtMost {
		t.Errorf("%d steps for %d leases", steps, leases)
	}
	if n := len(d.over(59*time.Second, 0, leases)); n != 0 {
		t.Errorf("%d are over before the minute", n)
	}
}

// At most 40 bytes a lease beside the machine's own, when each was renewed for a while.
func TestDeadlinesMemory(t *testing.T) {
	const leases = 250_000
	before := heapBytes()
	d := newDeadlines(0)
	ttl := 180 * time.Second
	for job := range int64(leases) {
		d.hold(job, time.Duration(job%60)*time.Second+ttl)
	}
	for now := time.Duration(0); now < 400*time.Second; now += time.Second {
		for job := int64(now/time.Second) % 60; job < leases; job += 60 {
			d.prolong(job, now+ttl)
		}
		for d.wake() <= now {
			if n := len(d.over(now, 0, 10)); n > 0 {
				t.Fatalf("%d are over at %v", n, now)
			}
		}
	}
	bytes := float64(heapBytes()-before) / leases
	t.Logf("%.0f bytes a lease", bytes)
	if bytes > 40 {
		t.Errorf("%.0f bytes a lease, want at most 40", bytes)
	}
	runtime.KeepAlive(d)
}

func heapBytes() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// How old the renewal of a lease is counts when the lease would be over without it, and not where nobody renewed.
func TestAgesOfRenewals(t *testing.T) {
	d := newDeadlines(0)
	var ages []int32
	d.ttl, d.renewed = 10, func(age int32) { ages = append(ages, age) }
	for job := range int64(3) {
		d.hold(job, 10*time.Second)
	}
	d.last(1, 60)
	d.prolong(0, 18*time.Second) // eight seconds after the grant
	d.prolong(1, 61*time.Second) // one second after it
	if over := d.over(11*time.Second, 0, 10); len(over) != 1 || over[0] != 2 {
		t.Errorf("over: %v", over)
	}
	slices.Sort(ages)
	if !slices.Equal(ages, []int32{2, 9}) {
		t.Errorf("ages %v, want 2 and 9 seconds", ages)
	}
}
