package broker

import (
	"testing"
	"time"
)

func TestReadingHoldsByWhatItTook(t *testing.T) {
	began := time.Now()
	read := began.Add(40 * time.Millisecond)
	after := func(ms int) time.Time { return read.Add(time.Duration(ms) * time.Millisecond) }
	for _, c := range []struct {
		tasks        int64
		heard, lacks bool
		at           time.Time
		want         bool
	}{
		{1, false, false, after(1999), false}, // few, and yet it took long
		{1, true, false, after(200), true},
		{fewTasks + 1, true, true, after(199), false},
		{fewTasks + 1, false, false, after(1999), false},
		{fewTasks + 1, true, false, after(200), true},
		{fewTasks + 1, false, true, after(200), true},
		{fewTasks + 1, false, false, after(2000), true},
	} {
		o := New(Config{})
		if !o.outdated(began, func() bool { return false }) {
			t.Fatal("nothing was read yet, and it is not time")
		}
		o.heard.Store(c.heard)
		o.took(c.tasks, began, read)
		if got := o.outdated(c.at, func() bool { return c.lacks }); got != c.want {
			t.Errorf("%d tasks, heard %v, lacks %v, %v after: outdated %v", c.tasks, c.heard, c.lacks, c.at.Sub(read), got)
		}
	}
	o := New(Config{})
	o.took(fewTasks, began, began.Add(soonDone))
	if !o.outdated(began.Add(soonDone), func() bool { return false }) {
		t.Error("a short reading of few tasks holds")
	}
	o.took(fewTasks+1, began, began.Add(soonDone))
	if o.outdated(began.Add(soonDone), func() bool { return false }) {
		t.Error("a short reading of many tasks does not hold")
	}
	o.took(10_000, began, began.Add(time.Minute))
	if !o.outdated(began.Add(time.Minute+lookAtLeast), func() bool { return false }) {
		t.Errorf("a reading that took a minute holds longer than %v", lookAtLeast)
	}
}
