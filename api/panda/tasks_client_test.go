package panda

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/api/panda/taskspec"
)

// A task of prun has no transformation and no user: both are found here, and what only its job knows is filled in when a pilot gets it.
func TestPrunJobs(t *testing.T) {
	w := newWorld(t)
	text, err := os.ReadFile("taskspec/testdata/tasks/prun.json")
	if err != nil {
		t.Fatal(err)
	}
	var c struct{ Given map[string]any }
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	delete(c.Given, "userName")
	c.Given["gshare"] = "User"
	for _, who := range []string{"alice", ""} {
		var task int64
		w.callerAs(forHerself(who)).data(send, "/task/submit", map[string]any{"task_parameters": c.Given, "parent_tid": nil}, &task)
		p := &fakePilot{t: t, url: w.url, node: "n1", asks: map[string]any{"prodSourceLabel": "user"}}
		for n, want := range []string{"000001", "000002"} {
			if !p.getJob() {
				t.Fatal("no job", p.job)
			}
			lfn := "user.alice." + written(int(task)) + "._" + want + ".out.txt"
			for name, want := range map[string]string{
				"jobPars": `-j '' --sourceURL ` + w.url + ` -r . -a jobO.6881742a-82d3-487a-b838-69fc7e0f665b.tar.gz -o '{'"'"'out.txt'"'"': '"'"'` + lfn +
					`'"'"'}' -p sh%20run.sh%20` + written(11+n) + `%20%22a%20b%22`,
				"outFiles": lfn, "realDatasets": "user.alice.test1_out.txt", "scopeOut": "user.alice", "prodUserID": map[bool]string{true: "alice", false: "anonymous"}[who != ""],
			} {
				if got := p.job[name]; got != want {
					t.Errorf("%s of job %d:\n got %v\nwant %s", name, n, got, want)
				}
			}
			if at, _ := p.job["transformation"].(string); !strings.HasPrefix(at, w.url+"/trf/") || !strings.HasSuffix(at, "/"+taskspec.RunGenName) {
				t.Errorf("transformation %s", at)
			}
		}
	}
	for _, path := range []string{"/trf/" + taskspec.RunGenName, "/trf/user/" + taskspec.RunGenName} {
		status, script := (caller{t, w.url}).get(path)
		if status != 200 || !strings.HasPrefix(script, "#!/bin/sh\n") || !strings.Contains(script, "\nset -- -- python3 runGen.py \"$@\"\n") || strings.Count(script, "END_OF_RUNGEN") != 2 {
			t.Errorf("%s: %d %s", path, status, script)
		}
	}
}
