//go:build chaos

package e2e

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/divvyhq/divvy/internal/pg"
)

// One thing goes wrong at a time, and then all is recounted. The short form has the faults that are told to be in it; with
// DIVVY_LONG all of them are played. DIVVY_FAULTS names a file that results are added to, DIVVY_E2E_SEED a seed.
// Plays wait most of the time, so that several go at once.
func TestChaos(t *testing.T) {
	before := goleak.IgnoreCurrent()
	t.Run("play", func(t *testing.T) {
		cluster := chaosCluster(t, "")
		for _, f := range faults {
			if f.short || long() {
				t.Run(f.name, func(t *testing.T) {
					t.Parallel()
					f.play(t, cluster)
				})
			}
		}
	})
	goleak.VerifyNone(t, before)
}

// long says whether tests may take their time.
func long() bool { return os.Getenv("DIVVY_LONG") != "" }

// play is one play, on the cluster of all unless the fault is one of the cluster.
func (f fault) play(t *testing.T, cluster *pg.Cluster) {
	var disk string
	switch {
	case f.small:
		disk = smallDisk(t)
		cluster = chaosCluster(t, filepath.Join(disk, "state"))
	case f.own:
		cluster = chaosCluster(t, "")
	}
	c := newPlay(t, cluster, f)
	c.disk = disk
	began := time.Now()
	r := c.run(t, f)
	t.Logf("%d lost, %d double, recovered in %d ms; %v in all", r.Lost, r.Double, r.RecoveryMS, time.Since(began).Round(time.Millisecond))
	r.note(t)
}
