package panda

import (
	"math"
	"time"

	"github.com/divvyhq/divvy/api/panda/call"
)

// field is one thing that pilots tell of a job. It is reported under its old name, which is that of PanDA's tables and
// what users know.
type field struct {
	old, new string // new is "" where the new API has it not
	kind     call.Kind
}

// fields are what goes into the report of an attempt. Texts are cut to maxField.
var fields = []field{
	{"jobMetrics", "job_metrics", call.Text}, {"jobSubStatus", "job_sub_status", call.Text},
	{"pilotErrorCode", "pilot_error_code", call.Integer}, {"pilotErrorDiag", "pilot_error_diag", call.Text},
	{"transExitCode", "trans_exit_code", call.Integer},
	{"exeErrorCode", "exe_error_code", call.Integer}, {"exeErrorDiag", "exe_error_diag", call.Text},
	{"pilotTiming", "pilot_timing", call.Text}, {"pilotID", "pilot_id", call.Text}, {"batchID", "batch_id", call.Text},
	{"schedulerID", "scheduler_id", call.Text}, {"node", "node", call.Text}, {"siteName", "site_name", call.Text},
	{"coreCount", "core_count", call.Integer}, {"meanCoreCount", "mean_core_count", call.Number},
	{"nEvents", "n_events", call.Integer}, {"nInputFiles", "n_input_files", call.Integer},
	{"cpuConsumptionTime", "cpu_consumption_time", call.Number}, {"cpuConsumptionUnit", "cpu_consumption_unit", call.Text},
	{"cpuConversionFactor", "cpu_conversion_factor", call.Number}, {"cpu_architecture_level", "cpu_architecture_level", call.Text},
	{"maxRSS", "max_rss", call.Number}, {"maxVMEM", "max_vmem", call.Number}, {"maxSWAP", "max_swap", call.Number}, {"maxPSS", "max_pss", call.Number},
	{"avgRSS", "avg_rss", call.Number}, {"avgVMEM", "avg_vmem", call.Number}, {"avgSWAP", "avg_swap", call.Number}, {"avgPSS", "avg_pss", call.Number},
	{"totRCHAR", "tot_rchar", call.Number}, {"totWCHAR", "tot_wchar", call.Number}, {"totRBYTES", "tot_rbytes", call.Number}, {"totWBYTES", "tot_wbytes", call.Number},
	{"rateRCHAR", "rate_rchar", call.Number}, {"rateWCHAR", "rate_wchar", call.Number}, {"rateRBYTES", "rate_rbytes", call.Number}, {"rateWBYTES", "rate_wbytes", call.Number},
	{"corruptedFiles", "corrupted_files", call.Text}, {"grid", "grid", call.Text},
	{"sourceSite", "source_site", call.Text}, {"destinationSite", "destination_site", call.Text},
	{"remainingSpace", "", call.Number}, {"ddmErrorCode", "", call.Integer}, {"ddmErrorDiag", "", call.Text}, {"supErrorCode", "", call.Integer}, {"supErrorDiag", "", call.Text},
}

// Bounds of what is kept, in bytes: of a text, of the end of a payload's output while it is debugged, of the pilot's log.
// The dispatcher bounds the report as a whole.
const (
	maxStdout = 8 << 10
	maxTail   = 64 << 10
)

// oldParams and newParams are the arguments of an update in either generation.
var oldParams, newParams = updateParams()

func updateParams() (old, new call.Params) {
	old = call.Params{"jobId": call.Integer, "state": call.Text, "attemptNr": call.Integer, "xml": call.Anything, "metaData": call.Anything,
		"startTime": call.Number, "endTime": call.Number, "pilotLog": call.Text, "stdout": call.Text}
	new = call.Params{"job_id": call.Integer | call.Needed, "job_status": call.Text | call.Needed, "attempt_nr": call.Integer, "job_output_report": call.Anything,
		"meta_data": call.Anything, "start_time": call.Text, "end_time": call.Text, "pilot_log": call.Text, "stdout": call.Text, "timeout": call.Number}
	for _, f := range fields {
		old[f.old] = f.kind
		if f.new != "" {
			new[f.new] = f.kind
		}
	}
	return old, new
}

// reportOf gathers what is to be kept of an update; nameOf gives a field its name in these arguments.
func reportOf(a call.Args, nameOf func(field) string) map[string]any {
	report := map[string]any{}
	for _, f := range fields {
		switch v := a[nameOf(f)].(type) {
		case nil:
		case string:
			if v != "" {
				report[f.old] = call.Cut(v, call.MaxField)
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
		return call.Cut(s, call.MaxField)
	}
	return t.Format(time.RFC3339)
}
