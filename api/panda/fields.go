package panda

import (
	"math"
	"time"

	"github.com/divvyhq/divvy/api/panda/wire"
)

// field is one thing that pilots report about a job. It is kept under its old name, the name in PanDA's tables, which
// users know.
type field struct {
	old, new string // new is "" if the new API does not have it
	kind     wire.Kind
}

// fields lists what goes into the report of an attempt. Texts are cut to maxField.
var fields = []field{
	{"jobMetrics", "job_metrics", wire.Text}, {"jobSubStatus", "job_sub_status", wire.Text},
	{"pilotErrorCode", "pilot_error_code", wire.Integer}, {"pilotErrorDiag", "pilot_error_diag", wire.Text},
	{"transExitCode", "trans_exit_code", wire.Integer},
	{"exeErrorCode", "exe_error_code", wire.Integer}, {"exeErrorDiag", "exe_error_diag", wire.Text},
	{"pilotTiming", "pilot_timing", wire.Text}, {"pilotID", "pilot_id", wire.Text}, {"batchID", "batch_id", wire.Text},
	{"schedulerID", "scheduler_id", wire.Text}, {"node", "node", wire.Text}, {"siteName", "site_name", wire.Text},
	{"coreCount", "core_count", wire.Integer}, {"meanCoreCount", "mean_core_count", wire.Number},
	{"nEvents", "n_events", wire.Integer}, {"nInputFiles", "n_input_files", wire.Integer},
	{"cpuConsumptionTime", "cpu_consumption_time", wire.Number}, {"cpuConsumptionUnit", "cpu_consumption_unit", wire.Text},
	{"cpuConversionFactor", "cpu_conversion_factor", wire.Number}, {"cpu_architecture_level", "cpu_architecture_level", wire.Text},
	{"maxRSS", "max_rss", wire.Number}, {"maxVMEM", "max_vmem", wire.Number}, {"maxSWAP", "max_swap", wire.Number}, {"maxPSS", "max_pss", wire.Number},
	{"avgRSS", "avg_rss", wire.Number}, {"avgVMEM", "avg_vmem", wire.Number}, {"avgSWAP", "avg_swap", wire.Number}, {"avgPSS", "avg_pss", wire.Number},
	{"totRCHAR", "tot_rchar", wire.Number}, {"totWCHAR", "tot_wchar", wire.Number}, {"totRBYTES", "tot_rbytes", wire.Number}, {"totWBYTES", "tot_wbytes", wire.Number},
	{"rateRCHAR", "rate_rchar", wire.Number}, {"rateWCHAR", "rate_wchar", wire.Number}, {"rateRBYTES", "rate_rbytes", wire.Number}, {"rateWBYTES", "rate_wbytes", wire.Number},
	{"corruptedFiles", "corrupted_files", wire.Text}, {"grid", "grid", wire.Text},
	{"sourceSite", "source_site", wire.Text}, {"destinationSite", "destination_site", wire.Text},
	{"remainingSpace", "", wire.Number}, {"ddmErrorCode", "", wire.Integer}, {"ddmErrorDiag", "", wire.Text}, {"supErrorCode", "", wire.Integer}, {"supErrorDiag", "", wire.Text},
}

// Bounds in bytes: of a text, of the end of a payload's output while it is debugged, of the pilot's log. The
// dispatcher bounds the whole report.
const (
	maxStdout = 8 << 10
	maxTail   = 64 << 10
)

// oldParams and newParams are the arguments of an update in either generation.
var oldParams, newParams = updateParams()

func updateParams() (old, new wire.Params) {
	old = wire.Params{"jobId": wire.Integer, "state": wire.Text, "attemptNr": wire.Integer, "xml": wire.Anything, "metaData": wire.Anything,
		"startTime": wire.Number, "endTime": wire.Number, "pilotLog": wire.Text, "stdout": wire.Text}
	new = wire.Params{"job_id": wire.Integer | wire.Needed, "job_status": wire.Text | wire.Needed, "attempt_nr": wire.Integer, "job_output_report": wire.Anything,
		"meta_data": wire.Anything, "start_time": wire.Text, "end_time": wire.Text, "pilot_log": wire.Text, "stdout": wire.Text, "timeout": wire.Number}
	for _, f := range fields {
		old[f.old] = f.kind
		if f.new != "" {
			new[f.new] = f.kind
		}
	}
	return old, new
}

// reportOf collects the fields of an update; nameOf returns a field's name in these arguments.
func reportOf(a wire.Args, nameOf func(field) string) map[string]any {
	report := map[string]any{}
	for _, f := range fields {
		switch v := a[nameOf(f)].(type) {
		case nil:
		case string:
			if v != "" {
				report[f.old] = wire.Cut(v, wire.MaxField)
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

// timeSaid formats a time of the old API, in seconds since 1970, for reports.
func timeSaid(seconds float64) string {
	if seconds < 1 || seconds > 1e11 {
		return ""
	}
	return time.UnixMilli(int64(math.Round(seconds * 1e3))).UTC().Format("2006-01-02T15:04:05.999Z07:00")
}

// dateSaid formats a time of the new API; any other text stays as it is.
func dateSaid(s string) string {
	t, err := time.Parse(time.DateTime, s)
	if err != nil {
		return wire.Cut(s, wire.MaxField)
	}
	return t.Format(time.RFC3339)
}
