package panda

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/divvyhq/divvy/api/panda/wire"
)

// fetched is a job as a Harvester reads it when it gets jobs for its workers. The Harvester needs every field, also
// those of files that the job does not have. The pilot ignores empty ones.
type fetched struct {
	pandaJob
	JobsetID        string `json:"jobsetID"`
	CurrentPriority int    `json:"currentPriority"`
	noFiles
}

// noFiles are the fields of a job's files when it has none.
type noFiles struct {
	InFiles        string `json:"inFiles"`
	GUID           string `json:"GUID"`
	FSize          string `json:"fsize"`
	Checksum       string `json:"checksum"`
	ScopeIn        string `json:"scopeIn"`
	RealDatasetsIn string `json:"realDatasetsIn"`
	DDMEndPointIn  string `json:"ddmEndPointIn"`
	OutFiles       string `json:"outFiles"`
	ScopeOut       string `json:"scopeOut"`
	RealDatasets   string `json:"realDatasets"`
	DDMEndPointOut string `json:"ddmEndPointOut"`
	LogFile        string `json:"logFile"`
	LogGUID        string `json:"logGUID"`
	ScopeLog       string `json:"scopeLog"`
}

// noJobset stands for none.
const noJobset = "NULL"

// byHarvester reports whether a Harvester asks for jobs, not one of its pilots: a pilot names its worker.
func byHarvester(scheduler, worker string) bool {
	return strings.HasPrefix(scheduler, "harvester-") && worker == ""
}

// fetchedJobs is the answer to a Harvester that asked for jobs.
func fetchedJobs(jobs []pandaJob) any {
	all := make([]fetched, len(jobs))
	for i, j := range jobs {
		all[i] = fetched{pandaJob: j, JobsetID: noJobset}
	}
	return jobList[fetched]{wire.ScSuccess, all}
}

// wrapped is the answer to one of many updates: JSON within JSON.
type wrapped struct {
	Type    string `json:"type"`
	Content string `json:"content"`
}

// updateJobsInBulk records a Harvester's updates of its jobs. If one of them does not name its job, all are refused.
func (s *pilots) updateJobsInBulk(r *http.Request, a wire.Args) any {
	list, ok := wire.Packed(a["jobList"]).([]any)
	if !ok {
		return []any{false, "Type error: 'jobList' must be a list as JSON."}
	}
	if len(list) > maxJobs {
		return []any{false, fmt.Sprintf(tooMany, "jobList", len(list), maxJobs)}
	}
	for i, item := range list {
		one, ok := item.(map[string]any)
		if !ok || wire.Absent(one["jobId"]) || wire.Absent(one["state"]) {
			return []any{false, "jobList[" + strconv.Itoa(i) + "]: expected a jobId and a state"}
		}
	}
	all := make([]wrapped, len(list))
	for i, item := range list {
		one := wire.Args(item.(map[string]any))
		for _, name := range []string{"startTime", "endTime"} {
			one[name] = epoch(one[name])
		}
		_, answer := s.updateJob(r, one)
		b, err := json.Marshal(answer)
		if err != nil {
			return []any{false, err.Error()}
		}
		all[i] = wrapped{"json", string(b)}
	}
	return []any{true, all}
}

// epoch is a time of an update as pilots of the old API say it, in seconds since 1970, where a Harvester says a date.
func epoch(v any) any {
	text, _ := v.(string)
	at, err := time.Parse(time.DateTime, text)
	if err != nil {
		return v
	}
	return json.Number(strconv.FormatInt(at.Unix(), 10))
}
