package ready

import (
	"cmp"
	"math"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/shares"
)

// plain is one ready job, as the model has it: a set of them is a list.
type plain struct {
	key     Key
	place   int64
	id      int64
	task    int64
	attempt int32
}

func (p plain) before(q plain) int {
	return cmp.Or(compareKeys(p.key, q.key), cmp.Compare(p.place, q.place), cmp.Compare(p.id, q.id))
}

// jobs lists what a set has, job by job, and checks that touching ranges are one.
func jobs(t *rapid.T, s *Set) (list []plain) {
	for b := range s.Buffers() {
		n := int64(0)
		var last Range
		for r := range b.Ranges() {
			if r.Place == last.Place && r.Task == last.Task && r.Attempt == last.Attempt && r.Low == last.High+1 {
				t.Fatalf("%v and %v are two ranges", last, r)
			}
			for id := r.Low; id <= r.High; id++ {
				list = append(list, plain{b.Key(), r.Place, id, r.Task, r.Attempt})
			}
			n, last = n+r.Jobs(), r
		}
		if n != b.Count() {
			t.Fatalf("buffer %v counts %d jobs, has %d", b.Key(), b.Count(), n)
		}
	}
	return list
}

// histories of a set beside a list of jobs.
type histories struct {
	set   *Set
	model []plain
	next  int64
}

func (h *histories) put(t *rapid.T) {
	task := rapid.Int64Range(1, 4).Draw(t, "task")
	key := Key{Share: shares.ShareID(rapid.IntRange(1, 2).Draw(t, "share")), Shape: int32(rapid.IntRange(1, 2).Draw(t, "shape"))}
	r := Range{Place: rapid.Int64Range(-1, 1).Draw(t, "place"), Low: h.next, Task: task, Attempt: int32(rapid.IntRange(1, 2).Draw(t, "attempt"))}
	r.High = r.Low + rapid.Int64Range(0, 9).Draw(t, "more")
	h.next = r.High + 1 + rapid.Int64Range(0, 1).Draw(t, "gap")
	if err := h.set.Put(key, "user"+string(rune('0'+task%3)), r); err != nil {
		t.Fatal(err)
	}
	for id := r.Low; id <= r.High; id++ {
		h.model = append(h.model, plain{key, r.Place, id, task, r.Attempt})
	}
}

// take takes any job, and may put it back with its next attempt or as it was.
func (h *histories) take(t *rapid.T) {
	if len(h.model) == 0 {
		return
	}
	i := rapid.IntRange(0, len(h.model)-1).Draw(t, "job")
	j := h.model[i]
	user, _ := h.set.User(j.task)
	got, ok := h.set.Take(j.key, j.place, j.id)
	if want := (Range{j.place, j.id, j.id, j.task, j.attempt}); !ok || got != want {
		t.Fatalf("took %v, %v: want %v", got, ok, want)
	}
	if _, again := h.set.Take(j.key, j.place, j.id); again {
		t.Fatalf("job %d was taken twice", j.id)
	}
	h.model = slices.Delete(h.model, i, i+1)
	if back := rapid.IntRange(-1, 1).Draw(t, "back"); back >= 0 {
		got.Attempt += int32(back)
		if err := h.set.Put(j.key, user, got); err != nil {
			t.Fatal(err)
		}
		j.attempt = got.Attempt
		h.model = append(h.model, j)
	}
}

func (h *histories) withdraw(t *rapid.T) {
	task := rapid.Int64Range(1, 5).Draw(t, "task")
	low := rapid.Int64Range(0, h.next).Draw(t, "low")
	high := low + rapid.Int64Range(0, 30).Draw(t, "more")
	gone := func(p plain) bool { return p.task == task && low <= p.id && p.id <= high }
	var want []plain
	for _, p := range h.model {
		if gone(p) {
			want = append(want, p)
		}
	}
	h.model = slices.DeleteFunc(h.model, gone)
	var got []plain
	for _, w := range h.set.Withdraw(task, low, high) {
		for id := w.Low; id <= w.High; id++ {
			got = append(got, plain{w.Key, w.Place, id, w.Task, w.Attempt})
		}
	}
	slices.SortFunc(want, func(a, b plain) int { return cmp.Compare(a.id, b.id) })
	if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(plain{}), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("withdrawn, wanted (-) and got (+):\n%s", diff)
	}
}

// move puts some jobs of a task into another buffer.
func (h *histories) move(t *rapid.T) {
	draw := func(name string) Key {
		return Key{Share: shares.ShareID(rapid.IntRange(1, 2).Draw(t, "share "+name)), Shape: int32(rapid.IntRange(1, 2).Draw(t, "shape "+name))}
	}
	task, from, to := rapid.Int64Range(1, 5).Draw(t, "task"), draw("from"), draw("to")
	low := rapid.Int64Range(0, h.next).Draw(t, "low")
	high := low + rapid.Int64Range(0, 30).Draw(t, "more")
	h.set.Move(task, from, to, low, high)
	for i, p := range h.model {
		if p.task == task && p.key == from && from != to && low <= p.id && p.id <= high {
			h.model[i].key = to
		}
	}
}

func (h *histories) check(t *rapid.T) {
	slices.SortFunc(h.model, plain.before)
	if diff := gocmp.Diff(h.model, jobs(t, h.set), gocmp.AllowUnexported(plain{}), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("the model (-) and the set (+):\n%s", diff)
	}
	for task := int64(1); task < 5; task++ {
		var mine []plain
		for _, p := range h.model {
			if p.task == task {
				mine = append(mine, p)
			}
		}
		if _, has := h.set.User(task); has != (len(mine) > 0) || h.set.Has(task, 0, math.MaxInt64) != has {
			t.Fatalf("task %d is known: %v, it has %d jobs", task, has, len(mine))
		}
		firsts := slices.CompactFunc(slices.Clone(mine), func(a, b plain) bool { return a.key == b.key })
		var got []plain
		for key, r := range h.set.FirstOf(task) {
			got = append(got, plain{key, r.Place, r.Low, r.Task, r.Attempt})
		}
		if diff := gocmp.Diff(firsts, got, gocmp.AllowUnexported(plain{}), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("the first jobs of task %d, the model (-) and the set (+):\n%s", task, diff)
		}
	}
	for i, p := range h.model {
		first := i
		for first > 0 && h.model[first-1].key == p.key {
			first--
		}
		if n := h.set.Buffer(p.key).Ahead(p.place, p.id); n != int64(i-first) {
			t.Fatalf("%d jobs ahead of %v, want %d", n, p, i-first)
		}
		if r, ok := h.set.Buffer(p.key).First(); first == i && (!ok || r.Low != p.id || r.Place != p.place) {
			t.Fatalf("first of %v is %v, want %v", p.key, r, p)
		}
	}
}

func TestSetIsAListOfJobs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h := &histories{set: NewSet(), next: 1}
		t.Repeat(map[string]func(*rapid.T){"put": h.put, "take": h.take, "withdraw": h.withdraw, "move": h.move, "": h.check})
	})
}

// A job that is ready is not made ready again at its place.
func TestPutRefusesWhatIsReady(t *testing.T) {
	t.Parallel()
	s, key := NewSet(), Key{Share: 1, Shape: 1}
	if err := s.Put(key, "a", Range{Low: 10, High: 20, Task: 1, Attempt: 1}); err != nil {
		t.Fatal(err)
	}
	for _, r := range []Range{{Low: 10, High: 10}, {Low: 5, High: 10}, {Low: 20, High: 30}, {Low: 1, High: 100}, {Low: 12, High: 13}, {Low: 3, High: 2}} {
		r.Task, r.Attempt = 2, 1
		if err := s.Put(key, "a", r); err == nil {
			t.Errorf("jobs %d to %d were put beside 10 to 20", r.Low, r.High)
		}
	}
	if s.Has(2, 0, math.MaxInt64) {
		t.Error("a refused task has ready jobs")
	}
}

// What takes the first job costs does not grow with the jobs that wait.
func BenchmarkTake(b *testing.B) {
	s, key, next := NewSet(), Key{Share: 1, Shape: 1}, int64(1)
	for range 100_000 {
		if err := s.Put(key, "a", Range{Low: next, High: next + 99, Task: next % 977, Attempt: 1}); err != nil {
			b.Fatal(err)
		}
		next += 200
	}
	for b.Loop() {
		r, ok := s.Buffer(key).First()
		if !ok {
			b.Fatal("all were taken")
		}
		if _, ok := s.Take(key, r.Place, r.Low); !ok {
			b.Fatal("the first is not there")
		}
		if err := s.Put(key, "a", Range{Low: next, High: next, Task: 1, Attempt: 1}); err != nil {
			b.Fatal(err)
		}
		next++
	}
}
