package pilots

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A renewal or an end that is over while somebody looks makes no others late, however long the daemon has run.
func TestReportThatEndsMeanwhileIsNoLoad(t *testing.T) {
	l := NewLoad(prometheus.NewRegistry())
	meanwhile := func() {}
	l.Now = func() int64 { meanwhile(); return int64(30 * 24 * time.Hour) }
	var first int64
	for range ReportsMany + 1 {
		first = l.Begin()
	}
	meanwhile = func() { l.End(first) }
	if n, mean, late := l.late(); late {
		t.Errorf("%d renewals and ends that have just come have waited for %s on average", n, mean)
	}
}
