package suite

import (
	"fmt"
	"time"

	"github.com/divvyhq/divvy/shares"
)

// figures are what the day came to. The rate is that of the site, so many times faster: less of it means that slots
// stood empty.
func (r *dayRun) figures() error {
	took := r.took.Seconds() // with the rests: what was to end meanwhile ends after them
	now, from := r.site.now(), r.site.counts
	rate := func(what string, n int64) Series { return newSeries(what, what+"/s", []float64{float64(n) / took}) }
	ends := rate("ends", now.finished+now.failed-from.finished-from.failed)
	due := r.rate() * (1 - r.Lose)
	_, peak, err := r.daemon.memory()
	if err != nil {
		return err
	}
	cpu, err := r.daemon.cpu()
	if err != nil {
		return err
	}
	r.figure(atMost("day", "off_at_rest_jobs", maxOf(r.worst), 1+float64(shares.Tolerance)/1000, newSeries("share furthest off at each rest", "jobs", r.worst),
		newSeries("share furthest off while jobs end and start", "jobs", r.moving)))
	r.figure(atLeast("day", "ends_ratio", ends.Median/due, 0.9, ends, newSeries("ends that all slots make when none stands empty", "ends/s", []float64{due}),
		rate("leases granted", now.granted-from.granted), rate("leases renewed", now.renewed-from.renewed), rate("calls", now.calls-from.calls),
		newSeries("pulls of the whole day that were told to come again", "pulls", []float64{float64(r.site.refused.Load())})))
	r.figure(atMost("day", "memory_mb", peak, 400, newSeries("most memory of the daemon that was resident", "MB", []float64{peak}),
		newSeries("processor time of the daemon in all", "s", []float64{cpu.Seconds()})))
	r.driftFigures()
	r.report.Samples = r.samples
	return nil
}

func maxOf(of []float64) (most float64) {
	for _, v := range of {
		most = max(most, v)
	}
	return most
}

// settings say which rates the day stresses.
func (r *dayRun) settings() []Setting {
	d := r.Day
	return []Setting{
		{"day", fmt.Sprintf("%s of a site in %s, 1:%g", d.Length, d.fast(d.Length).Round(time.Second), d.Speed)},
		{"slots", fmt.Sprintf("%d of one core, nodes of %d, %d queues, %d shares in 3 levels, eight in ten with work all day, one runs out of it, one has it in bursts",
			d.Slots, d.Node, d.Queues, d.Tree[0]*d.Tree[1]*d.Tree[2])},
		{"jobs", fmt.Sprintf("%s on average, exponential; %g %% of the attempts fail, %g %% are lost with their pilot", d.MeanJob, 100*d.Fail, 100*d.Lose)},
		{"pulls", fmt.Sprintf("the slot of a pilot that died is held by its lease, and whoever starts there waits for the next one that comes free: %.2f s a pull on average, %g of the attempts for %s",
			d.Lose*d.Lease.Seconds(), d.Lose, d.Lease)},
		{"rates", fmt.Sprintf("%.0f starts and as many ends a second, %g times those of the site; each lease renewed every %s", d.rate(), d.Speed, d.Lease/3)},
	}
}
