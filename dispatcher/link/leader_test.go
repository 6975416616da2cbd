package link

import (
	"testing"
	"time"

	"github.com/divvyhq/divvy/internal/relay"
)

// Where the leader is changes with it, and is known of daemons with a connection alone.
func TestLeaderURL(t *testing.T) {
	ls := New(Config{})
	for id, address := range []string{1: "one:1", 2: relay.Secure + "two:2", 3: "three:3"} {
		ls.links[int64(id)] = &link{peer: Peer{ID: int64(id), Address: address}}
	}
	ls.links[1].conn, ls.links[2].conn = new(relay.Conn), new(relay.Conn)
	for id, want := range []string{0: "", 1: "http://one:1", 2: "https://two:2", 3: "", 4: ""} {
		if got := ls.url(int64(id)); got != want {
			t.Errorf("daemon %d is at %q, want %q", id, got, want)
		}
	}
	leader, looks := int64(1), 0
	url := ls.LeaderURL(func() int64 { looks++; return leader })
	first := url()
	if again := url(); first != "http://one:1" || again != first || looks != 1 {
		t.Errorf("%s and %s, after %d looks", first, again, looks)
	}
	leader = 2
	for until := time.Now().Add(10 * leaderEvery); url() != "https://two:2"; <-time.After(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the change of the leader is not seen")
		}
	}
}
