package taskspec

import (
	"testing"

	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/dispatcher/job"
)

// Plain commands stay readable, and a URL is a transformation.
func TestJobPars(t *testing.T) {
	for _, c := range []struct {
		lease   dispatcher.Lease
		trf     string
		jobPars string
	}{
		{dispatcher.Lease{Attempt: 1, Share: "A/b", Command: []string{"echo", "hello world"}}, "http://h/trf/runShell",
			"-e DIVVY_ATTEMPT=1 -e DIVVY_CORES=1 -e DIVVY_QUEUE=Q -e DIVVY_SHARE=A/b -- echo 'hello world'"},
		{dispatcher.Lease{Attempt: 2, Cores: 8, Command: []string{"sh", "-c", "echo it's"}, Env: map[string]string{"X": ""}}, "http://h/trf/runShell",
			`-e DIVVY_ATTEMPT=2 -e DIVVY_CORES=8 -e DIVVY_QUEUE=Q -e DIVVY_SHARE= -e X= -- sh -c 'echo it'"'"'s'`},
		{dispatcher.Lease{Attempt: 1, Command: []string{"echo", "\x1b[1m"}}, "http://h/trf/runShell",
			"-o -e DIVVY_ATTEMPT=1 -e DIVVY_CORES=1 -e DIVVY_QUEUE=Q -e DIVVY_SHARE= -- echo %033%1331m"},
		{dispatcher.Lease{Attempt: 1, Command: []string{"./a b"}, Paths: job.Paths{Dir: "/my data", Stdout: "/o", Stderr: "/o"}}, "http://h/trf/runShell",
			`-e DIVVY_ATTEMPT=1 -e DIVVY_CORES=1 -e DIVVY_QUEUE=Q -e DIVVY_SHARE= -- sh -c 'cd '"'"'/my data'"'"' || exit 126; exec >/o; exec 2>&1; exec "$@"' sh './a b'`},
		{dispatcher.Lease{Attempt: 1, Command: []string{"true"}, Image: "r/x:1"}, "http://h/trf/runShell", `-e DIVVY_ATTEMPT=1 -e DIVVY_CORES=1 -e DIVVY_QUEUE=Q -e DIVVY_SHARE= -- ` +
			`sh -c 'echo "$0" >&2; exit 125' 'image r/x:1: pilots of PanDA start no containers; take containers from this queue'`},
		{dispatcher.Lease{Command: []string{"https://x.org/trf/runGen", "-j", "", "-p", "a b"}}, "https://x.org/trf/runGen", "-j '' -p 'a b'"},
		{dispatcher.Lease{Command: []string{"http://x.org/runGen"}}, "http://x.org/runGen", ""},
	} {
		if trf, jobPars := PayloadOf(&c.lease, "Q", "http://h/trf/runShell"); trf != c.trf || jobPars != c.jobPars {
			t.Errorf("%v:\n got %s %s\nwant %s %s", c.lease.Command, trf, jobPars, c.trf, c.jobPars)
		}
	}
}
