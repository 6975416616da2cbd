package panda

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/dispatcher"
	"github.com/divvyhq/divvy/generator/view"
)

// jobAttributes lists the columns of PanDA's table of jobs; its programs may look for any of them.
var jobAttributes = strings.Fields(`
	PandaID jobDefinitionID schedulerID pilotID creationTime creationHost modificationTime modificationHost AtlasRelease
	transformation homepackage prodSeriesLabel prodSourceLabel prodUserID assignedPriority currentPriority attemptNr maxAttempt
	jobStatus jobName maxCpuCount maxCpuUnit maxDiskCount maxDiskUnit ipConnectivity minRamCount minRamUnit startTime endTime
	cpuConsumptionTime cpuConsumptionUnit commandToPilot transExitCode pilotErrorCode pilotErrorDiag exeErrorCode exeErrorDiag
	supErrorCode supErrorDiag ddmErrorCode ddmErrorDiag brokerageErrorCode brokerageErrorDiag jobDispatcherErrorCode
	jobDispatcherErrorDiag taskBufferErrorCode taskBufferErrorDiag computingSite computingElement jobParameters metadata prodDBlock
	dispatchDBlock destinationDBlock destinationSE nEvents grid cloud cpuConversion sourceSite destinationSite transferType taskID
	cmtConfig stateChangeTime prodDBUpdateTime lockedby relocationFlag jobExecutionID VO pilotTiming workingGroup processingType
	prodUserName nInputFiles countryGroup batchID parentID specialHandling jobsetID coreCount nInputDataFiles inputFileType
	inputFileProject inputFileBytes nOutputDataFiles outputFileBytes jobMetrics workQueue_ID jediTaskID jobSubStatus
	actualCoreCount reqID maxRSS maxVMEM maxSWAP maxPSS avgRSS avgVMEM avgSWAP avgPSS maxWalltime nucleus eventService
	failedAttempt hs06sec gshare hs06 totRCHAR totWCHAR totRBYTES totWBYTES rateRCHAR rateWCHAR rateRBYTES rateWBYTES
	resource_type diskIO memory_leak memory_leak_x2 container_name job_label gco2_regional gco2_global cpu_architecture_level
	outputFileType`)

// zeroAttributes lists the columns that are 0 in PanDA if nothing is known.
var zeroAttributes = []string{"maxCpuCount", "maxDiskCount", "minRamCount", "cpuConsumptionTime", "pilotErrorCode", "exeErrorCode",
	"supErrorCode", "ddmErrorCode", "brokerageErrorCode", "jobDispatcherErrorCode", "taskBufferErrorCode", "nEvents",
	"nOutputDataFiles", "outputFileBytes"}

// description is a job under PanDA's names, all of them. Reports of its last pilot override what divvy knows.
type description map[string]any

// tasksPerPage bounds the tasks looked up at once, each with up to 1 MB of parameters.
const tasksPerPage = 500

// describe describes those of ids that exist, with one statement for the jobs, and one for each page of their tasks.
// Reports of payloads are left out, since they may be large.
func (s jobs) describe(ctx context.Context, ids []int64) (map[int64]description, error) {
	rows, err := s.Jobs.JobsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	of := map[int64]view.Task{}
	for _, row := range rows {
		of[row.Task] = view.Task{}
	}
	for page := range slices.Chunk(slices.Sorted(maps.Keys(of)), tasksPerPage) {
		tasks, err := s.Known.TasksByID(ctx, page)
		if err != nil {
			return nil, err
		}
		for _, t := range tasks {
			t.Parameters = nil // large, and not used
			of[t.ID] = t
		}
	}
	all := map[int64]description{}
	for _, row := range rows {
		all[row.ID] = descriptionOf(row, of[row.Task])
	}
	return all, nil
}

func descriptionOf(row dispatcher.JobRow, t view.Task) description {
	d := make(description, len(jobAttributes)+8)
	for _, name := range jobAttributes {
		d[name] = nil
	}
	for _, name := range zeroAttributes {
		d[name] = 0
	}
	d.ofTask(t)
	maps.Copy(d, description{"PandaID": row.ID, "jediTaskID": row.Task, "taskID": row.Task, "jobStatus": wire.StatusOf(row.State, ""),
		"gshare": row.Share, "assignedPriority": row.Priority, "currentPriority": row.Priority, "attemptNr": row.Attempt,
		"maxAttempt": row.MaxAttempts, "failedAttempt": row.Attempt - 1, "creationTime": wire.PandaTime(&row.CreatedAt),
		"endTime": wire.PandaTime(row.EndedAt), "nInputFiles": len(row.Inputs), "nInputDataFiles": len(row.Inputs),
		"jobName": jobName(t.Name, row.Task, row.ID), "computingSite": orNull(row.Queue), "inputFiles": row.Inputs, "outputFiles": nil})
	if row.RetryOf != 0 {
		d["parentID"] = row.RetryOf
	}
	changed, outputs := row.CreatedAt, map[string]any{}
	if row.EndedAt != nil {
		changed = *row.EndedAt
	}
	if n := len(row.Attempts); n > 0 {
		last := row.Attempts[n-1]
		outputs = last.Outputs
		d.ofAttempt(row.State, last)
		if row.EndedAt == nil && last.StartedAt != nil {
			changed = *last.StartedAt
		}
	}
	d["modificationTime"], d["stateChangeTime"] = wire.PandaTime(&changed), wire.PandaTime(&changed)
	d.files(row, outputs)
	return d
}

func (d description) ofTask(t view.Task) {
	d["taskName"], d["prodUserName"], d["prodUserID"] = orNull(t.Name), orNull(t.User), orNull(t.User)
	for name, attribute := range map[string]string{"VO": "vo", "prodSourceLabel": "label", "processingType": "processing_type",
		"workingGroup": "working_group", "transformation": "transformation", "resource_type": "resource_type"} {
		d[name] = orNull(t.Attributes[attribute])
	}
	if sp := t.Spec; sp != nil {
		r := sp.Requirements
		d["coreCount"], d["minRamCount"], d["minRamUnit"], d["maxDiskCount"], d["maxDiskUnit"] = max(1, r.Cores), r.MemoryMB, "MB", r.DiskMB, "MB"
		d["maxWalltime"], d["maxCpuCount"], d["maxCpuUnit"] = int64(r.Walltime), int64(r.Walltime), "s"
		d["jobParameters"] = strings.Join(sp.Command, " ")
	}
}

// ofAttempt adds the result of a job's running or last attempt.
func (d description) ofAttempt(jobState string, last dispatcher.Attempt) {
	if jobState == "leased" {
		d["jobStatus"] = wire.StatusOf(jobState, dispatcher.LeaseState(last.State))
	}
	d["startTime"], d["modificationHost"], d["pilotID"] = wire.PandaTime(last.StartedAt), orNull(last.Node), orNull(last.Pilot)
	d["outputFiles"], d["cpuConsumptionTime"], d["cpuConsumptionUnit"] = last.Outputs, int64(last.Usage.CPUSeconds), "s"
	if mb := last.Usage.MemoryMB; mb > 0 {
		d["maxRSS"] = int64(float64(mb) * 1e6 / 1024)
	}
	if last.ExitCode != nil {
		d["transExitCode"] = *last.ExitCode
	}
	for name, v := range last.Report {
		switch name {
		case "siteName", "startTime", "endTime": // set above, from divvy's own records
		case "node":
			d["modificationHost"] = v
		case "cpuConversionFactor":
			d["cpuConversion"] = v
		default:
			d[name] = v
		}
	}
	if n, ok := d["coreCount"]; ok {
		d["actualCoreCount"] = n
	}
	if d["transExitCode"] != nil { // a text in PanDA
		d["transExitCode"] = written(d["transExitCode"])
	}
}

// files lists inputs and outputs in the form of PanDA's table of files.
func (d description) files(row dispatcher.JobRow, outputs map[string]any) {
	all := []map[string]any{}
	add := func(kind, lfn, status string) map[string]any {
		f := map[string]any{"PandaID": row.ID, "jediTaskID": row.Task, "lfn": lfn, "type": kind, "status": status, "GUID": nil,
			"fsize": 0, "checksum": nil, "scope": nil, "dataset": nil, "destinationDBlock": nil, "destinationSE": nil}
		all = append(all, f)
		return f
	}
	for _, lfn := range row.Inputs {
		add("input", lfn, "ready")
	}
	for _, lfn := range slices.Sorted(maps.Keys(outputs)) {
		f := add("output", lfn, "ready")
		said, _ := outputs[lfn].(map[string]any)
		for name, as := range map[string]string{"guid": "GUID", "fsize": "fsize", "endpoint": "destinationSE", "scope": "scope"} {
			if v, there := said[name]; there {
				f[as] = v
			}
		}
		if sum, _ := said["adler32"].(string); sum != "" {
			f["checksum"] = "ad:" + sum
		}
	}
	d["Files"] = all
	if len(outputs) > 0 {
		d["nOutputDataFiles"] = len(outputs)
	}
}

// extended adds what PanDA computes for lists of a task's jobs.
func (d description) extended() description {
	d["jobDuration"], d["extendedProdSourceLabel"] = nil, written(d["prodSourceLabel"])+"_normal"
	begin, _ := d["startTime"].(string)
	end, _ := d["endTime"].(string)
	from, err1 := wire.TimeOf(begin)
	to, err2 := wire.TimeOf(end)
	if err1 == nil && err2 == nil && from != nil && to != nil {
		d["jobDuration"] = to.Sub(*from).Seconds()
	}
	return d
}

// jobName returns the name of a job, also used in the pilot's log.
func jobName(task string, taskID, job int64) string {
	if task == "" {
		task = "task" + strconv.FormatInt(taskID, 10)
	}
	return task + "." + strconv.FormatInt(job, 10)
}
