package panda

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/dispatcher"
)

// update is a pilot's report about a job, in either generation.
type update struct {
	job      int64
	attempt  int // 0 = not given: the current attempt
	state    string
	report   map[string]any
	outputs  any // xml, job_output_report: JSON, or JSON in a string
	metaData any
	pilotLog string
	stdout   string
}

// leaseStates are the states in which the pilot goes on.
var leaseStates = map[string]dispatcher.LeaseState{
	"starting": dispatcher.Starting, "running": dispatcher.Running,
	"transferring": dispatcher.Draining, "holding": dispatcher.Draining,
}

// outcomes maps the states of an ended job to outcomes.
var outcomes = map[string]dispatcher.Outcome{"finished": dispatcher.Finished, "failed": dispatcher.Failed}

// known is true for the states that a pilot may report.
func (u update) known() bool { return leaseStates[u.state] != "" || outcomes[u.state] != "" }

// final is true when the pilot says no more of the job after this.
func (u update) final() bool { return outcomes[u.state] != "" || u.state == "holding" }

// fromOld and fromNew take the arguments of an update, brought to their kinds.
func fromOld(a wire.Args) update {
	a = withoutKeys(a)
	u := update{job: a.Integer("jobId"), attempt: int(a.Integer("attemptNr")), state: a.Text("state"), report: reportOf(a, oldName),
		outputs: wire.Unwrap(a["xml"]), metaData: wire.Unwrap(a["metaData"]), pilotLog: a.Text("pilotLog"), stdout: a.Text("stdout")}
	return u.at(timeSaid(a.Number("startTime")), timeSaid(a.Number("endTime")))
}

func fromNew(a wire.Args) update {
	a = withoutKeys(a)
	u := update{job: a.Integer("job_id"), attempt: int(a.Integer("attempt_nr")), state: a.Text("job_status"), report: reportOf(a, newName),
		outputs: wire.Unwrap(a["job_output_report"]), metaData: wire.Unwrap(a["meta_data"]), pilotLog: a.Text("pilot_log"), stdout: a.Text("stdout")}
	return u.at(dateSaid(a.Text("start_time")), dateSaid(a.Text("end_time")))
}

// at completes the report.
func (u update) at(start, end string) update {
	keep := func(name string, v any) {
		if v != nil && v != "" {
			u.report[name] = v
		}
	}
	keep("startTime", start)
	keep("endTime", end)
	keep("state", u.state)
	keep("stdout", wire.Tail(u.stdout, maxStdout))
	keep("metaData", u.metaData)
	if _, files := u.outputs.(map[string]any); !files {
		keep("xml", outputText(u.outputs))
	}
	return u
}

// outputText keeps a list of outputs that is no JSON object.
func outputText(v any) any {
	if s, ok := v.(string); ok {
		return wire.Cut(s, wire.MaxField)
	}
	return nil
}

// hear does what an update asks for, and returns whether the pilot must end the payload. PandaIDs are easily guessed,
// so a caller that may not pull at a queue may not report about its jobs either.
func (s *pilots) hear(ctx context.Context, u update) (kill bool, err error) {
	held, err := s.Dispatcher.Holdings(ctx, []dispatcher.HeldJob{{Job: u.job, Attempt: u.attempt}})
	if err == nil && u.attempt == 0 && held[0].Attempt > 0 {
		u.attempt = held[0].Attempt
		held, err = s.Dispatcher.Holdings(ctx, []dispatcher.HeldJob{{Job: u.job, Attempt: u.attempt}})
	}
	if err != nil {
		return false, err
	}
	if held[0].Lease == "" {
		return outcomes[u.state] == "", s.late(ctx, u, held[0].JobState)
	}
	if err := s.mayPull(ctx, held[0].Queue); err != nil {
		return false, err
	}
	if outcomes[u.state] != "" {
		return false, s.finish(ctx, u, held[0].Lease)
	}
	reply, err := s.Dispatcher.Renew(ctx, dispatcher.RenewRequest{Pilot: u.pilot(), Leases: []dispatcher.Renewal{{
		Lease: held[0].Lease, State: leaseStates[u.state], Usage: u.usage(), Report: u.report, TTL: s.Lease}}})
	return len(reply.Lost)+len(reply.Cancel) > 0, err
}

// finish reports the end of an attempt.
func (s *pilots) finish(ctx context.Context, u update, lease string) error {
	reply, err := s.Dispatcher.Finish(ctx, dispatcher.FinishRequest{Pilot: u.pilot(), Results: []dispatcher.Result{u.result(lease)}})
	if err == nil && reply.Verdicts[0].Verdict == dispatcher.LeaseLost {
		return s.late(ctx, u, reply.Verdicts[0].JobState)
	}
	return err
}

// result is a final state in the dispatcher's words.
func (u update) result(lease string) dispatcher.Result {
	files, _ := u.outputs.(map[string]any)
	return dispatcher.Result{Lease: lease, Outcome: outcomes[u.state], ExitCode: u.exitCode(), Message: u.message(), Usage: u.usage(),
		Outputs: files, LogTail: wire.Tail(u.pilotLog, maxTail), Report: u.report}
}

// late hears an update of an attempt that is over already, or never was. A last word is kept where it is another one than
// was heard then.
func (s *pilots) late(ctx context.Context, u update, jobState string) error {
	if outcomes[u.state] == "" {
		return nil
	}
	noted, err := s.Dispatcher.Late(ctx, dispatcher.HeldJob{Job: u.job, Attempt: u.attempt}, u.result(""))
	if noted {
		s.Log.Info("the end of an attempt that had ended otherwise is noted", slog.Int64("job", u.job), slog.Int("attempt", u.attempt),
			slog.String("said", u.state), slog.String("job_state", jobState))
	}
	return err
}

// pilot returns the reporter's name for itself.
func (u update) pilot() string {
	if node, _ := u.report["node"].(string); node != "" {
		return "panda/" + node
	}
	return "panda/unknown"
}

// usage reads CPU seconds, and the peak of resident memory, which pilots give in KiB.
func (u update) usage() dispatcher.Usage {
	peak := max(u.number("maxRSS"), u.number("maxPSS"))
	return dispatcher.Usage{CPUSeconds: max(0, u.number("cpuConsumptionTime")), MemoryMB: int64(max(0, min(peak, 1e15)) * 1024 / 1e6)}
}

// number is a figure of the report; 0 where it has none.
func (u update) number(name string) float64 {
	switch v := u.report[name].(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// stopped are the codes of pilots that ended their payload themselves, or were ended with it: for a kill, a signal, a loop, too much
// memory, disk, output or time.
var stopped = []int64{1098, 1104, 1106, 1144, 1150, 1200, 1201, 1202, 1203, 1204, 1205, 1206, 1207, 1208, 1212, 1213, 1235, 1363}

// exitCode is that of the payload, where the pilot ran one and waited for its end: the 0 that comes with a stopped one is none.
func (u update) exitCode() *int {
	code, said := u.report["transExitCode"].(int64)
	why, _ := u.report["pilotErrorCode"].(int64)
	if !said || code < -1<<31 || code >= 1<<31 || code == 0 && slices.Contains(stopped, why) {
		return nil
	}
	c := int(code)
	return &c
}

// message says why a job failed: each party's code and words.
func (u update) message() string {
	var parts []string
	for _, p := range []struct{ who, code, diag string }{
		{"pilot", "pilotErrorCode", "pilotErrorDiag"}, {"payload", "exeErrorCode", "exeErrorDiag"}, {"ddm", "ddmErrorCode", "ddmErrorDiag"},
	} {
		code := int64(u.number(p.code))
		diag, _ := u.report[p.diag].(string)
		if code != 0 {
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%s %d: %s", p.who, code, diag)))
		}
	}
	return strings.Join(parts, "; ")
}
