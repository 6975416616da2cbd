package slurm

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var begun = time.Date(2026, 11, 29, 12, 0, 0, 0, time.Local)

func rows() []Row {
	a, rest := Array{Runs: []Run{{1, 1, 9}}, Limit: 2}, Array{Runs: []Run{{5, 1, 5}}, Limit: 2}
	who := Who{Name: "reconstruction", User: "alice", Account: "Production/Reprocessing", Partition: "any"}
	at := Times{Now: begun.Add(65 * time.Second), Submit: begun.Add(-time.Minute), Limit: time.Hour}
	ran := at
	ran.Start = begun
	over := ran
	over.End = begun.Add(30 * time.Second)
	return []Row{
		{Job: 12, Piece: -1, Who: who, State: Running, At: ran, Size: Size{CPUs: 4, MemoryMB: 105}, Node: "n1"},
		{Job: 123, Array: &rest, Piece: -1, Who: who, State: Pending, At: at, Size: Size{CPUs: 1}},
		{Job: 123, Array: &a, Piece: 4, Raw: 17, Who: who, State: Failed, Ended: Ended{Code: 3}, At: over, Size: Size{CPUs: 1, UsedMB: 10}, Node: "n2"},
	}
}

func TestQueueFormats(t *testing.T) {
	for format, want := range map[string]string{
		"%i|%T":     "12|RUNNING\n123_[5-9%2]|PENDING\n123_4|FAILED\n",
		"%i %t %M":  "12 R 1:05\n123_[5-9%2] PD 0:00\n123_4 F 0:30\n",
		"%.5i-%-":   "",
		"%.4A %4j.": "  12 reco.\n 123 reco.\n1000 reco.\n",
		"%R %N %L":  "n1 n1 58:55\n(Priority)  1:00:00\nn2 n2 59:30\n",
		"%K %F %P":  "N/A 12 any\n5-9%2 123 any\n4 123 any\n",
		"%S %e %V %u %C %m %l": "2026-11-29T12:00:00 N/A 2026-11-29T11:59:00 alice 4 100M 1:00:00\nN/A N/A 2026-11-29T11:59:00 alice 1 0 1:00:00\n" +
			"2026-11-29T12:00:00 2026-11-29T12:00:30 2026-11-29T11:59:00 alice 1 0 1:00:00\n",
	} {
		columns, err := ParseQueueFormat(format)
		if want == "" {
			if err == nil {
				t.Errorf("%s is a format", format)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", format, err)
			continue
		}
		var b strings.Builder
		WriteQueue(&b, columns, rows(), false)
		if diff := cmp.Diff(want, b.String()); diff != "" {
			t.Errorf("%s: %s", format, diff)
		}
	}
	columns, err := ParseQueueFormat(QueueFormat)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	WriteQueue(&b, columns, rows()[:1], true)
	want := "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n                12       any reconstr    alice  R       1:05      1 n1\n"
	if b.String() != want {
		t.Errorf("the default: %q, want %q", b.String(), want)
	}
	for _, format := range []string{"%", "%y", "%.", "%99999i"} {
		if _, err := ParseQueueFormat(format); err == nil {
			t.Errorf("%q is a format", format)
		}
	}
}

func TestAccountFormats(t *testing.T) {
	for _, tc := range []struct {
		format string
		style  Style
		want   string
	}{
		{"JobIdRaw,State", Style{Delimiter: "|"}, "12|RUNNING\n123|PENDING\n1000000000017|FAILED\n"},
		{"jobidraw,state,exitcode", Style{Delimiter: "|"}, "12|RUNNING|0:0\n123|PENDING|0:0\n1000000000017|FAILED|3:0\n"},
		{"JobID,State,NodeList", Style{Delimiter: "|", Header: true}, "JobID|State|NodeList\n12|RUNNING|n1\n123_[5-9%2]|PENDING|None assigned\n123_4|FAILED|n2\n"},
		{"jobid,state%20", Style{}, "          12              RUNNING \n123_[5-9%2]              PENDING \n       123_4               FAILED \n"},
		{"JobName%5,JobName%-16", Style{}, strings.Repeat("reco+ reconstruction   \n", 3)},
		{"Account%20", Style{}, strings.Repeat("Production/Reprocessing \n", 3)},
		{"JobID,Elapsed,MaxRSS", Style{Delimiter: "|", Behind: true}, "12|00:01:05||\n123_[5-9%2]|00:00:00||\n123_4|00:00:30|9765K|\n"},
	} {
		columns, err := ParseAccountFormat(tc.format)
		if err != nil {
			t.Errorf("%s: %v", tc.format, err)
			continue
		}
		var b strings.Builder
		WriteAccount(&b, columns, rows(), tc.style)
		want := tc.want
		if tc.format == "jobid,state%20" {
			want = strings.Replace(want, "123_[5-9%2] ", " 123_[5-9%2] ", 1)
		}
		if diff := cmp.Diff(want, b.String()); diff != "" {
			t.Errorf("%s: %s", tc.format, diff)
		}
	}
	var b strings.Builder
	columns, err := ParseAccountFormat("JobID%5,User%-6")
	if err != nil {
		t.Fatal(err)
	}
	WriteAccount(&b, columns, nil, Style{Header: true})
	if want := "JobID User   \n----- ------ \n"; b.String() != want {
		t.Errorf("the titles: %q, want %q", b.String(), want)
	}
	for _, format := range []string{"nonsense", "JobID%x", "", "JobID,"} {
		if _, err := ParseAccountFormat(format); err == nil {
			t.Errorf("%q is a format", format)
		}
	}
}

func TestShowWords(t *testing.T) {
	all := rows()
	text := strings.Join(all[2].Words(map[string]string{"SLURM_JOB_UID": "7"}), " ")
	for _, want := range []string{"JobId=1000000000017 ", "ArrayJobId=123 ", "ArrayTaskId=4 ", "JobState=FAILED ", "ExitCode=3:0 ", "UserId=alice(7) "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %s", text, want)
		}
	}
}
