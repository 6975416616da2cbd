package slab

import (
	"maps"
	"runtime"
	"testing"

	"pgregory.net/rapid"
)

type lease struct{ job, word int64 }

func (l *lease) Key() int64 { return l.job }

// It is a map, whatever comes and goes, and a record stays where it is.
func TestMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var m Map[lease, *lease]
		model, where := map[int64]int64{}, map[int64]int32{}
		jobs := rapid.SampledFrom([]func(int64) int64{
			func(n int64) int64 { return n },
			func(n int64) int64 { return n << 40 },
			func(n int64) int64 { return -n },
		}).Draw(t, "jobs")
		most := rapid.SampledFrom([]int64{3, 40, 3000}).Draw(t, "most")
		for step := range rapid.IntRange(0, 6000).Draw(t, "steps") {
			job := jobs(rapid.Int64Range(0, most).Draw(t, "job"))
			_, there := model[job]
			switch {
			case !there:
				where[job] = m.Put(lease{job, int64(step)})
				model[job] = int64(step)
			case rapid.IntRange(0, 2).Draw(t, "drop") > 0:
				m.Drop(job)
				m.Drop(job)
				delete(model, job)
			}
			word, there := model[job]
			if l := m.Get(job); (l != nil) != there || there && l.word != word {
				t.Fatalf("job %d has %v, want %d, %v", job, l, word, there)
			}
		}
		found := map[int64]int64{}
		for l := range m.All() {
			found[l.job] = l.word
			if at := m.Index(l.job); at != where[l.job] || m.At(at) != l || m.Get(l.job) != l {
				t.Errorf("job %d is at %d, was put at %d", l.job, at, where[l.job])
			}
		}
		if !maps.Equal(found, model) || m.Len() != len(model) {
			t.Errorf("%d records %v, want %v", m.Len(), found, model)
		}
		for n := range most {
			if job := jobs(n); m.Get(job) == nil {
				if _, there := model[job]; there || m.Index(job) != -1 {
					t.Errorf("job %d is not found", job)
				}
			}
		}
	})
}

// A million records take little more than themselves.
func TestMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	m := filled()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if each := float64(after.HeapAlloc-before.HeapAlloc) / n; each > 16+9 {
		t.Errorf("%.1f B each of 16", each)
	}
	runtime.KeepAlive(m)
}

// n is how many records a full map has.
const n = 1 << 20

func filled() *Map[lease, *lease] {
	m := new(Map[lease, *lease])
	for job := range int64(n) {
		m.Put(lease{job, 1})
	}
	return m
}

func BenchmarkGet(b *testing.B) {
	m := filled()
	for i := range b.N {
		if m.Get(int64(i*7919)%n) == nil {
			b.Fatal(i)
		}
	}
}

func BenchmarkPutDrop(b *testing.B) {
	m := filled()
	for i := range b.N {
		m.Drop(int64(i))
		m.Put(lease{int64(i + n), 1})
	}
}
