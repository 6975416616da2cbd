package panda

import (
	"math"
	"time"
)

// field is one thing that pilots tell of a job. It is reported under its old name, which is that of PanDA's tables and
// what users know.
type field struct {
	old, new string // new is "" where the new API has it not
	kind     kind
}

// fields are what goes into the report of an attempt. Texts are cut to maxField.
var fields = []field{
	{"jobMetrics", "job_metrics", text}, {"jobSubStatus", "job_sub_status", text},
	{"pilotErrorCode", "pilot_error_code", integer}, {"pilotErrorDiag", "pilot_error_diag", text},
	{"transExitCode", "trans_exit_code", integer},
	{"exeErrorCode", "exe_error_code", integer}, {"exeErrorDiag", "exe_error_diag", text},
	{"pilotTiming", "pilot_timing", text}, {"pilotID", "pilot_id", text}, {"batchID", "batch_id", text},
	{"schedulerID", "scheduler_id", text}, {"node", "node", text}, {"siteName", "site_name", text},
	{"coreCount", "core_count", integer}, {"meanCoreCount", "mean_core_count", number},
	{"nEvents", "n_events", integer}, {"nInputFiles", "n_input_files", integer},
	{"cpuConsumptionTime", "cpu_consumption_time", number}, {"cpuConsumptionUnit", "cpu_consumption_unit", text},
	{"cpuConversionFactor", "cpu_conversion_factor", number}, {"cpu_architecture_level", "cpu_architecture_level", text},
	{"maxRSS", "max_rss", number}, {"maxVMEM", "max_vmem", number}, {"maxSWAP", "max_swap", number}, {"maxPSS", "max_pss", number},
	{"avgRSS", "avg_rss", number}, {"avgVMEM", "avg_vmem", number}, {"avgSWAP", "avg_swap", number}, {"avgPSS", "avg_pss", number},
	{"totRCHAR", "tot_rchar", number}, {"totWCHAR", "tot_wchar", number}, {"totRBYTES", "tot_rbytes", number}, {"totWBYTES", "tot_wbytes", number},
	{"rateRCHAR", "rate_rchar", number}, {"rateWCHAR", "rate_wchar", number}, {"rateRBYTES", "rate_rbytes", number}, {"rateWBYTES", "rate_wbytes", number},
	{"corruptedFiles", "corrupted_files", text}, {"grid", "grid", text},
	{"sourceSite", "source_site", text}, {"destinationSite", "destination_site", text},
	{"remainingSpace", "", number}, {"ddmErrorCode", "", integer}, {"ddmErrorDiag", "", text}, {"supErrorCode", "", integer}, {"supErrorDiag", "", text},
}

// Bounds of what is kept, in bytes: of a text, of the end of a payload's output while it is debugged, of the pilot's log.
// The dispatcher bounds the report as a whole.
const (
	maxStdout = 8 << 10
	maxTail   = 64 << 10
)

// oldParams and newParams are the arguments of an update in either generation.
var oldParams, newParams = updateParams()

func updateParams() (old, new params) {
	old = params{"jobId": integer, "state": text, "attemptNr": integer, "xml": anything, "metaData": anything,
		"startTime": number, "endTime": number, "pilotLog": text, "stdout": text}
	new = params{"job_id": integer | needed, "job_status": text | needed, "attempt_nr": integer, "job_output_report": anything,
		"meta_data": anything, "start_time": text, "end_time": text, "pilot_log": text, "stdout": text, "timeout": number}
	for _, f := range fields {
		old[f.old] = f.kind
		if f.new != "" {
			new[f.new] = f.kind
		}
	}
	return old, new
}

// reportOf gathers what is to be kept of an update; nameOf gives a field its name in these arguments.
func reportOf(a args, nameOf func(field) string) map[string]any {
	report := map[string]any{}
	for _, f := range fields {
		switch v := a[nameOf(f)].(type) {
		case nil:
		case string:
			if v != "" {
				report[f.old] = cut(v, maxField)
			}
		case float64:
			report[f.old] = v
			if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
				report[f.old] = int64(v)
			}
		default:
			report[f.old] = v
		}
	}
	return report
}

func oldName(f field) string { return f.old }
func newName(f field) string { return f.new }

// timeSaid is a time of the old API, seconds since 1970, in the words of reports.
func timeSaid(seconds float64) string {
	if seconds < 1 || seconds > 1e11 {
		return ""
	}
	return time.UnixMilli(int64(math.Round(seconds * 1e3))).UTC().Format("2006-01-02T15:04:05.999Z07:00")
}

// dateSaid is a time of the new API; what is none stays as it is.
func dateSaid(s string) string {
	t, err := time.Parse(time.DateTime, s)
	if err != nil {
		return cut(s, maxField)
	}
	return t.Format(time.RFC3339)
}
