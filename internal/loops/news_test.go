package loops

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A loop keeps to its pace after news, looks now and then without, and at once when there is some.
func TestLoopLooksNowAndThenWithoutNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var runs atomic.Int64
		heard := NewNews()
		l := Loop{Name: "x", Every: 300 * time.Millisecond, News: heard, Step: func(context.Context) (int, error) { runs.Add(1); return 0, nil }}
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.Run(ctx, NewMetrics(prometheus.NewRegistry()), slog.New(slog.DiscardHandler))
		}()
		ran := func(d time.Duration) int64 {
			before := runs.Load()
			time.Sleep(d)
			synctest.Wait()
			return runs.Load() - before
		}
		for _, c := range []struct {
			what        string
			do          func()
			during      time.Duration
			least, most int64
		}{
			{"while nothing of others arrives", func() {}, 30 * time.Second, 99, 102},
			{"after it began to arrive", func() { heard.Hear(true) }, newsHolds, 18, 22},
			{"without news", func() {}, 10*newsNone + newsNone/2, 9, 11},
			{"at once with news", heard.Tell, 0, 1, 2},
			{"after news", func() {}, newsHolds, 18, 22},
			{"without news again", func() {}, 10*newsNone + newsNone/2, 9, 11},
			{"when the connection breaks", func() { heard.Hear(false) }, 30 * time.Second, 99, 102},
		} {
			c.do()
			if n := ran(c.during); n < c.least || n > c.most {
				t.Errorf("%s it ran %d times in %v, want %d to %d", c.what, n, c.during, c.least, c.most)
			}
		}
		cancel()
		<-done
	})
}

// News that comes while a step rests, however long, is looked at when the rest is over.
func TestLoopHearsNewsWhileItRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		heard, rest := NewNews(), 3*newsHolds
		heard.Hear(true)
		var at []time.Duration
		began := time.Now()
		l := Loop{Name: "x", Every: time.Second, News: heard, Ease: &Ease{Times: 1, Most: rest, MostAll: rest, Daemons: func() int { return 1 }},
			Step: func(context.Context) (int, error) {
				if at = append(at, time.Since(began)); len(at) == 1 {
					time.Sleep(rest) // so it rests as long
				}
				return 0, nil
			}}
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.Run(ctx, NewMetrics(prometheus.NewRegistry()), slog.New(slog.DiscardHandler))
		}()
		time.Sleep(rest + time.Second)
		heard.Tell()
		time.Sleep(rest)
		cancel()
		<-done
		if len(at) < 2 || at[1] > 2*rest+time.Second {
			t.Errorf("it ran at %v, want the second time after %v", at, 2*rest)
		}
	})
}

// Rare steps start one after the other; the others, and their pace, are as they were.
func TestRareStepsStartApart(t *testing.T) {
	ls := Apart([]Loop{{Every: time.Second}, {Every: time.Minute}, {Every: 300 * time.Millisecond}, {Every: rarely}, {Every: time.Hour}})
	var first []time.Duration
	for _, l := range ls {
		first = append(first, l.First)
	}
	if want := []time.Duration{0, 0, 0, apartFrom, 2 * apartFrom}; !slices.Equal(first, want) {
		t.Errorf("first runs after %v, want %v", first, want)
	}
}
