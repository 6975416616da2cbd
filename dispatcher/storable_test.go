package dispatcher

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/shares"
)

// A text that the database does not take is refused before it can fail the pulls that are leased together with it.
func TestTextsThatCannotBeStored(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 3})
	good := PullRequest{Queue: "q", Pilot: "p-ü", Node: "n", Slot: job.Slot{Cores: 1}, RequestID: "again\x00"}
	for field, bad := range map[string]func(*PullRequest){
		"pilot":      func(r *PullRequest) { r.Pilot = "p\x00" },
		"node":       func(r *PullRequest) { r.Node = "n\xff" },
		"devices[1]": func(r *PullRequest) { r.Devices = []string{"gpu0", "gpu\x00"} },
		"only.user":  func(r *PullRequest) { r.Only.User = "u\x00" },
	} {
		req := good
		bad(&req)
		_, err := d.Pull(t.Context(), req)
		var of *job.FieldError
		if !errors.As(err, &of) || of.Field != field || !strings.Contains(err.Error(), "UTF-8") {
			t.Errorf("%s: %v", field, err)
		}
	}
	if reply, err := d.Pull(t.Context(), good); err != nil || len(reply.Leases) != 1 {
		t.Errorf("%+v, %v", reply, err)
	}
}

// Names have bounds, each of its own.
func TestTextsThatAreTooLong(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 3})
	long := strings.Repeat("x", job.MostName+1)
	many := map[string]string{}
	for i := range job.MostLabels + 1 {
		many[fmt.Sprint(i)] = ""
	}
	for field, bad := range map[string]func(*PullRequest){
		"queue":          func(r *PullRequest) { r.Queue = long },
		"pilot":          func(r *PullRequest) { r.Pilot = long },
		"node":           func(r *PullRequest) { r.Node = long },
		"devices":        func(r *PullRequest) { r.Devices = make([]string, 1001) },
		"devices[1]":     func(r *PullRequest) { r.Devices = []string{"gpu0", long} },
		"slot.labels":    func(r *PullRequest) { r.Slot.Labels = many },
		"slot.labels ":   func(r *PullRequest) { r.Slot.Labels = map[string]string{long: ""} },
		"slot.labels  ":  func(r *PullRequest) { r.Slot.Labels = map[string]string{"os": long} },
		"only.labels[0]": func(r *PullRequest) { r.Only.Labels = []string{long} },
		"only.user":      func(r *PullRequest) { r.Only.User = long },
	} {
		req := PullRequest{Queue: "q", Pilot: "p", Node: "n", Slot: job.Slot{Cores: 1}}
		bad(&req)
		_, err := d.Pull(t.Context(), req)
		var of *job.FieldError
		if !errors.As(err, &of) || of.Field != strings.TrimSpace(field) || !strings.Contains(err.Error(), "at most") {
			t.Errorf("%s: %v", field, err)
		}
	}
	most := strings.Repeat("\U0001F680", 200) // of four bytes each
	reply, err := d.Pull(t.Context(), PullRequest{Queue: "q", Pilot: most, Node: most, Devices: []string{most}, Slot: job.Slot{Cores: 1}})
	if err != nil || len(reply.Leases) != 1 {
		t.Fatalf("%+v, %v", reply, err)
	}
	finish(t, d, Finished, reply.Leases[0])
	f.accountAll(d)
	f.expectLines("by node", "SELECT (node = repeat('\U0001F680', 200))::text FROM usage_nodes", "true")
}

// A name of a node of before there was a bound is cut in the roll-ups, which no index would take otherwise.
func TestNodeThatWasTooLong(t *testing.T) {
	f := newFixture(t, []shares.Spec{node("A", 1)}, slots("q", 10))
	d := f.daemon()
	f.enqueue(batch{share: "A", n: 2})
	finish(t, d, Finished, pull1(t, d, "q"), pull1(t, d, "q"))
	f.exec("UPDATE attempts SET node = (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 200) i)")
	const byNode = "SELECT concat_ws(' ', length(node), finished, node LIKE md5('1') || '%') FROM "
	f.expectLines("before", byNode+"uncounted_nodes", "200 2 t")
	f.accountAll(d)
	f.expectLines("after", byNode+"usage_nodes", "200 2 t")
}

// Names that no one uses twice are forgotten when there are too many, the oldest first.
func TestPilotsThatAreTooMany(t *testing.T) {
	q := &queue{pilots: map[string]seen{}}
	began := time.Now()
	const n = 40_000
	for i := range n {
		q.sees(fmt.Sprintf("%0800d", i), seen{at: began.Add(time.Duration(i)), devices: []string{"gpu:0"}})
		if q.kept > mostKept {
			t.Fatalf("%d bytes of %d pilots", q.kept, len(q.pilots))
		}
	}
	_, first := q.pilots[fmt.Sprintf("%0800d", 0)]
	_, last := q.pilots[fmt.Sprintf("%0800d", n-1)]
	if first || !last || len(q.pilots) < mostKept/2/1100 {
		t.Errorf("%d pilots, the first %v, the last %v", len(q.pilots), first, last)
	}
	was := q.kept
	for range n { // one that asks often counts once
		q.sees("again", seen{at: began.Add(time.Hour)})
	}
	if q.kept > was+300 {
		t.Errorf("%d bytes, were %d", q.kept, was)
	}
	if q.forgetBefore(began.Add(time.Minute)); len(q.pilots) != 1 || q.kept != (seen{}).size("again") {
		t.Errorf("%d pilots, %d bytes", len(q.pilots), q.kept)
	}
	huge := seen{at: began.Add(2 * time.Hour), devices: []string{strings.Repeat("x", mostKept)}}
	if q.sees("huge", huge); len(q.pilots) != 1 {
		t.Errorf("%d pilots beside one that is too much by itself", len(q.pilots))
	}
}
