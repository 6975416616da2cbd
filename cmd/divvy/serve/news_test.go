package serve

import (
	"log/slog"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/divvyhq/divvy/dispatcher/link"
	"github.com/divvyhq/divvy/internal/pg"
)

// What changes at a daemon is said to the others.
func TestNewsReachesOtherDaemons(t *testing.T) {
	t.Parallel()
	d, _ := startDaemon(t, nil)
	heard := make(chan string, 100)
	go func() {
		_ = pg.Listen(t.Context(), d.db.direct, channel, func(hint string) { heard <- hint }) // until the test ends
	}()
	<-heard // it listens
	other, err := link.Join(t.Context(), link.Joining{DB: d.pool, Secret: "s", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Heartbeat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if peers, err := d.company.member.Peers(t.Context()); err != nil || len(peers) != 2 {
		t.Fatalf("peers %v, %v; want two", peers, err)
	}
	d.news.Done()
	for hint := ""; hint != hintNews; {
		select {
		case hint = <-heard:
		case <-time.After(20 * time.Second):
			t.Fatal("nothing was said to the other daemon")
		}
	}
}

// A loop without news is woken by what another daemon says.
func TestNewsOfOthersIsHeard(t *testing.T) {
	t.Parallel()
	d, _ := startDaemon(t, nil)
	var next <-chan struct{}
	servetest.Eventually(t, 20*time.Second, func() (bool, string) {
		next = d.news.None(time.Now())
		return next != nil, "there is news on an idle site all the time"
	})
	if err := pg.Notify(t.Context(), d.pool, channel, hintNews); err != nil {
		t.Fatal(err)
	}
	select {
	case <-next:
	case <-time.After(20 * time.Second):
		t.Fatal("what another daemon said is no news here")
	}
}
