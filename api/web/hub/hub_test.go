package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// cells is a build that gives what the test puts in, and counts.
type cells struct {
	n     int
	shape string
	of    map[string]string
	err   error
}

func (c *cells) build(context.Context) (Update, time.Time, error) {
	c.n++
	all := map[string]string{}
	for k, v := range c.of {
		all[k] = v
	}
	return Update{Shape: c.shape, Cells: all}, time.Unix(int64(1e9+c.n), 0).UTC(), c.err
}

// said reads what an event says.
func saidBy(t *testing.T, text []byte) (id string, m message) {
	t.Helper()
	for _, line := range strings.Split(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, "id: "); ok {
			id = rest
		}
		if rest, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(rest), &m); err != nil {
				t.Fatal(err)
			}
		}
	}
	return id, m
}

func next(t *testing.T, r *reader) []byte {
	t.Helper()
	select {
	case text, ok := <-r.events:
		if !ok {
			t.Fatal("the reader was sent away")
		}
		return text
	default:
		t.Fatal("no event")
		return nil
	}
}

func publish(t *testing.T, h *Hub) int {
	t.Helper()
	n, err := h.Publish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// However many look, a view is built once a round; only what is different goes out.
func TestHubBuildsOnceForAll(t *testing.T) {
	h, c := New(), &cells{shape: "s", of: map[string]string{"a": "1", "b": "1"}}
	var readers []*reader
	for range 50 {
		r, first, err := h.subscribe("/", "", c.build)
		if err != nil || first != nil {
			t.Fatal(first, err)
		}
		readers = append(readers, r)
	}
	if n := publish(t, h); n != 50 || c.n != 1 {
		t.Fatalf("%d events of %d builds, want 50 of 1", n, c.n)
	}
	if _, m := saidBy(t, next(t, readers[49])); len(m.Cells) != 2 || m.Shape != "s" {
		t.Errorf("the first event has all: %+v", m)
	}
	c.of["b"] = "2"
	publish(t, h)
	if _, m := saidBy(t, next(t, readers[49])); len(m.Cells) != 1 || m.Cells["b"] != "2" || m.At.Unix() != 1e9+2 {
		t.Errorf("the second has what is different: %+v", m)
	}
	c.shape = "t"
	publish(t, h)
	if _, m := saidBy(t, next(t, readers[49])); len(m.Cells) != 2 || m.Shape != "t" {
		t.Errorf("another shape has all: %+v", m)
	}
	for _, r := range readers {
		h.leave(r)
		h.leave(r)
	}
	if publish(t, h); c.n != 3 || h.readers != 0 {
		t.Errorf("%d builds, %d readers: nobody looks any more", c.n, h.readers)
	}
}

// Who comes back with the id of the last event gets what it has missed; with an id of another time, all.
func TestHubResumes(t *testing.T) {
	h, c := New(), &cells{of: map[string]string{"a": "0", "b": "0"}}
	r, _, err := h.subscribe("/", "", c.build)
	if err != nil {
		t.Fatal(err)
	}
	publish(t, h)
	id, _ := saidBy(t, next(t, r))
	h.leave(r)
	other, _, err := h.subscribe("/", "", c.build)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		c.of["a"] = fmt.Sprint(i + 1)
		publish(t, h)
	}
	for _, w := range []struct {
		id    string
		n     int
		cells int // of the last one
	}{{id, 3, 1}, {"", 1, 2}, {"gone-1", 1, 2}, {strings.Split(id, "-")[0] + "-99", 1, 2}, {strings.Split(id, "-")[0] + "-x", 1, 2}} {
		_, first, err := h.subscribe("/", w.id, c.build)
		if err != nil {
			t.Fatal(err)
		}
		events := strings.Split(strings.TrimSuffix(string(first), "\n\n"), "\n\n")
		_, m := saidBy(t, []byte(events[len(events)-1]))
		if len(events) != w.n || len(m.Cells) != w.cells || m.Cells["a"] != "3" {
			t.Errorf("after %q: %d events, the last %+v", w.id, len(events), m)
		}
	}
	h.leave(other)
}

// A reader that does not keep up is sent away; the others are not held up.
func TestHubDropsSlowReaders(t *testing.T) {
	h, c := New(), &cells{}
	slow, _, _ := h.subscribe("/", "", c.build)
	quick, _, _ := h.subscribe("/", "", c.build)
	for range mostBehind + 1 {
		publish(t, h)
		next(t, quick)
	}
	n := 0
	for range slow.events { // ends: it is closed
		n++
	}
	if n != mostBehind || h.readers != 1 {
		t.Errorf("%d events, %d readers", n, h.readers)
	}
}

// A view that fails says so, keeps its age, and does not keep the others from being built.
func TestHubBuildFails(t *testing.T) {
	h, bad, good := New(), &cells{}, &cells{}
	r, _, _ := h.subscribe("/bad", "", bad.build)
	s, _, _ := h.subscribe("/good", "", good.build)
	publish(t, h)
	next(t, r)
	next(t, s)
	bad.err = errors.New("away")
	if _, err := h.Publish(t.Context()); !errors.Is(err, bad.err) {
		t.Error(err)
	}
	if _, m := saidBy(t, next(t, r)); !m.Failed || m.At.Unix() != 1e9+1 {
		t.Errorf("%+v", m)
	}
	if _, m := saidBy(t, next(t, s)); m.Failed || m.At.Unix() != 1e9+2 {
		t.Errorf("%+v", m)
	}
}

func TestHubBounds(t *testing.T) {
	h, c := New(), &cells{}
	for i := range mostTopics {
		if _, _, err := h.subscribe(fmt.Sprint(i), "", c.build); err != nil {
			t.Fatal(i, err)
		}
	}
	if _, _, err := h.subscribe("one more", "", c.build); !errors.Is(err, ErrTooMany) {
		t.Error("topics:", err)
	}
	for i := h.readers; i < mostReaders; i++ {
		if _, _, err := h.subscribe("0", "", c.build); err != nil {
			t.Fatal(i, err)
		}
	}
	if _, _, err := h.subscribe("0", "", c.build); !errors.Is(err, ErrTooMany) {
		t.Error("readers:", err)
	}
	h.Close()
	if h.readers != 0 {
		t.Error(h.readers, "after the end")
	}
	if _, _, err := h.subscribe("0", "", c.build); err == nil {
		t.Error("a closed hub takes readers")
	}
}
