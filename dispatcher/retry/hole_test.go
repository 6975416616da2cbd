package retry_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/divvyhq/divvy/dispatcher/entry"
	"github.com/divvyhq/divvy/dispatcher/retry"
	"github.com/divvyhq/divvy/shares"
	policy "github.com/divvyhq/divvy/shares/retry"
)

var blackHole = policy.BlackHole{Fails: 0.9, Sample: 10, Window: time.Hour, Probe: 2 * time.Minute}

// ends are attempts that ended alike.
type ends struct {
	queue shares.QueueID
	shape int32
	n     int
	said  entry.Outcome
}

func counted(all ...ends) *retry.Counts {
	c := &retry.Counts{}
	for _, e := range all {
		for range e.n {
			c.Add(e.queue, e.shape, e.said)
		}
	}
	return c
}

func TestFound(t *testing.T) {
	bad := ends{1, 1, 10, entry.Failed}
	for name, c := range map[string]struct {
		ends  []ends
		known []shares.QueueID
		want  []shares.QueueID
	}{
		"nothing is known of other queues":     {ends: []ends{bad}},
		"they finish elsewhere":                {ends: []ends{bad, {2, 1, 5, entry.Finished}}, want: []shares.QueueID{1}},
		"lost ones":                            {ends: []ends{{1, 1, 10, entry.Lost}, {2, 1, 5, entry.Finished}}, want: []shares.QueueID{1}},
		"some finish":                          {ends: []ends{{1, 1, 18, entry.Failed}, {1, 1, 2, entry.Finished}, {2, 1, 5, entry.Finished}}, want: []shares.QueueID{1}},
		"too many finish":                      {ends: []ends{{1, 1, 17, entry.Failed}, {1, 1, 3, entry.Finished}, {2, 1, 5, entry.Finished}}},
		"too few ended":                        {ends: []ends{{1, 1, 9, entry.Failed}, {2, 1, 5, entry.Finished}}},
		"called off ones say nothing":          {ends: []ends{{1, 1, 9, entry.Failed}, {1, 1, 9, entry.Cancelled}, {1, 1, 9, entry.Returned}, {2, 1, 5, entry.Finished}}},
		"too few finish elsewhere":             {ends: []ends{bad, {2, 1, 4, entry.Finished}}},
		"most fail elsewhere too":              {ends: []ends{bad, {2, 1, 5, entry.Finished}, {2, 1, 6, entry.Failed}}},
		"half of them fail elsewhere":          {ends: []ends{bad, {2, 1, 5, entry.Finished}, {2, 1, 5, entry.Failed}}, want: []shares.QueueID{1}},
		"other shapes finish elsewhere":        {ends: []ends{bad, {2, 2, 50, entry.Finished}}},
		"one of its shapes finishes":           {ends: []ends{{1, 1, 9, entry.Failed}, {1, 2, 9, entry.Failed}, {2, 2, 5, entry.Finished}}, want: []shares.QueueID{1}},
		"two at once":                          {ends: []ends{bad, {2, 1, 10, entry.Failed}, {3, 1, 5, entry.Finished}}, want: []shares.QueueID{1, 2}},
		"two suspects do not speak for others": {ends: []ends{bad, {2, 1, 91, entry.Failed}, {2, 1, 9, entry.Finished}}},
		"one that is known":                    {ends: []ends{bad, {2, 1, 5, entry.Finished}}, known: []shares.QueueID{1}},
		"a known one does not speak":           {ends: []ends{bad, {2, 1, 5, entry.Finished}}, known: []shares.QueueID{2}},
	} {
		t.Run(name, func(t *testing.T) {
			known := map[shares.QueueID]bool{}
			for _, id := range c.known {
				known[id] = true
			}
			if got := slices.Sorted(maps.Keys(counted(c.ends...).Found(blackHole, known))); !slices.Equal(got, c.want) {
				t.Errorf("found %v, want %v", got, c.want)
			}
		})
	}
}

func TestCountsForget(t *testing.T) {
	for name, c := range map[string]struct {
		turns []time.Duration // after the first
		want  int
	}{
		"at once":              {nil, 20},
		"before half a window": {[]time.Duration{29 * time.Minute}, 20},
		"after half a window":  {[]time.Duration{31 * time.Minute}, 20},
		"after another half":   {[]time.Duration{31 * time.Minute, 62 * time.Minute}, 0},
		"after a long pause":   {[]time.Duration{2 * time.Hour}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			counts := &retry.Counts{}
			counts.Turn(noon, time.Hour)
			for range 20 {
				counts.Add(1, 1, entry.Failed)
			}
			for range 5 {
				counts.Add(2, 1, entry.Finished)
			}
			for _, after := range c.turns {
				counts.Turn(noon.Add(after), time.Hour)
			}
			if got := counts.Found(blackHole, nil)[1].Ends; got != c.want {
				t.Errorf("%d ends are remembered, want %d", got, c.want)
			}
			if n := len(counts.Queues()); (n == 0) != (c.want == 0) {
				t.Errorf("%d queues are remembered", n)
			}
			counts.Forget(1)
			if _, there := counts.Queues()[1]; there {
				t.Error("forgotten, and still there")
			}
		})
	}
}

// Nothing is counted for longer than a window and a half, however turns come; within half a window nothing is forgotten.
func TestCountsAreOfAWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		counts, now := &retry.Counts{}, noon
		var at []time.Time
		counts.Turn(now, time.Hour)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "minutes")) * time.Minute)
			counts.Turn(now, time.Hour)
			counts.Add(1, 1, entry.Failed)
			at = append(at, now)
			for range 5 {
				counts.Add(2, 1, entry.Finished)
			}
		}
		least, most := 0, 0
		for _, a := range at {
			if now.Sub(a) < 30*time.Minute {
				least++
			}
			if now.Sub(a) <= 90*time.Minute {
				most++
			}
		}
		if got := counts.Found(policy.BlackHole{Fails: 1, Sample: 1}, nil)[1].Ends; got < least || got > most {
			t.Fatalf("%d ends are counted, want %d to %d", got, least, most)
		}
	})
}

func TestProbed(t *testing.T) {
	known := map[shares.QueueID]bool{1: true}
	c := counted(ends{1, 1, 9, entry.Failed})
	if got := c.Probed(known); len(got) != 0 {
		t.Errorf("what ended before: %v", got)
	}
	c.Add(1, 1, entry.Finished)
	c.Add(1, 2, entry.Lost)
	c.Add(1, 2, entry.Returned)
	c.Add(2, 2, entry.Finished)
	if got, want := c.Probed(known), map[shares.QueueID]retry.Tally{1: {Ends: 2, Fails: 1}}; !maps.Equal(got, want) {
		t.Errorf("probed %v, want %v", got, want)
	}
	if got := c.Probed(nil); got[1].Ends != 0 {
		t.Errorf("counted twice: %v", got)
	}
}

func TestHoleIsLetGo(t *testing.T) {
	const window = time.Hour
	good, bad := retry.Tally{Ends: 1}, retry.Tally{Ends: 1, Fails: 1}
	for name, c := range map[string]struct {
		probes []retry.Tally // five minutes apart
		busy   bool
		after  time.Duration // since the last
		want   bool
	}{
		"new":                       {busy: true},
		"two good ones":             {probes: []retry.Tally{good, good}},
		"three good ones":           {probes: []retry.Tally{good, good, good}, want: true},
		"three at once":             {probes: []retry.Tally{{Ends: 3}}, want: true},
		"a bad one between":         {probes: []retry.Tally{good, good, bad, good, good}},
		"a bad one among many":      {probes: []retry.Tally{{Ends: 9, Fails: 1}}},
		"three after a bad one":     {probes: []retry.Tally{bad, good, good, good}, want: true},
		"idle for a window":         {probes: []retry.Tally{bad}, after: 2 * window},
		"busy for a window":         {probes: []retry.Tally{bad}, after: 2 * window, busy: true, want: true},
		"busy for less":             {probes: []retry.Tally{bad}, after: window, busy: true},
		"busy, and bad a while ago": {probes: []retry.Tally{bad, good}, after: window - 4*time.Minute, busy: true, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			now := noon
			h := retry.NewHole(retry.Tally{Ends: 10, Fails: 9}, now)
			for _, p := range c.probes {
				now = now.Add(5 * time.Minute)
				h.Note(p, now)
			}
			if got := h.Over(c.busy, window, now.Add(c.after)); got != c.want {
				t.Errorf("let go: %v, want %v", got, c.want)
			}
		})
	}
}

func TestHoleWords(t *testing.T) {
	s := retry.BlackHoleStanding{Since: noon, Ends: 30, Fails: 29}
	const start = "since 2026-01-02T12:00:00Z it fails nearly all that it gets (29 of 30 attempts)"
	for want, p := range map[string]*policy.Policy{"it gets one job every 2m0s until 3 finish in a row": {BlackHole: blackHole}, "it gets one job until 3 finish in a row": nil} {
		if got := s.Words(p); !strings.HasPrefix(got, start) || !strings.HasSuffix(got, want) {
			t.Errorf("%q, want %q at its end", got, want)
		}
	}
}
