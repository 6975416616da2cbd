package dispatcher

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/dispatcher/resource"
)

// mostReport bounds a report: bytes of its JSON. What does not fit is left out, and cutField says so.
const (
	mostReport = 64 << 10
	cutField   = "cut"
)

// mostDepth bounds how deep a report is nested: PostgreSQL reads it with a stack of its own.
const mostDepth = 50

// metaField is what a payload reported of itself: of an attempt that ended it is kept beside the report.
const metaField = "metaData"

// packReport is a report as it is stored, within its bounds; nil when there is nothing to say.
func packReport(report map[string]any) []byte {
	if len(report) == 0 {
		return nil
	}
	b, err := json.Marshal(tidyReport(report, mostDepth))
	if err == nil && len(b) > mostReport {
		b, err = json.Marshal(cutReport(report))
	}
	if err != nil {
		b, _ = json.Marshal(map[string]string{cutField: "the report cannot be written down: " + err.Error()}) // strings can
	}
	return fit(b)
}

// fit is JSON without what jsonb does not take.
func fit(b []byte) []byte { return bytes.ReplaceAll(b, []byte(`\u0000`), []byte(`\ufffd`)) }

// packEnd is packReport in two parts, which have its bounds together: what a payload reported of itself is the second one.
func packEnd(report map[string]any) (rest, metadata []byte) {
	whole := packReport(report)
	if report[metaField] == nil {
		return whole, nil
	}
	var parts map[string]json.RawMessage
	if json.Unmarshal(whole, &parts) != nil || parts[metaField] == nil { // it is cut
		return whole, nil
	}
	metadata = parts[metaField]
	delete(parts, metaField)
	if len(parts) == 0 {
		return nil, metadata
	}
	rest, err := json.Marshal(parts)
	if err != nil {
		return whole, nil
	}
	return rest, metadata
}

// tidyReport is the value as PostgreSQL's jsonb can hold it.
func tidyReport(value any, depth int) any {
	switch v := value.(type) {
	case map[string]any:
		if depth == 0 {
			return "[nested too deeply]"
		}
		out := make(map[string]any, len(v))
		for name, x := range v {
			out[name] = tidyReport(x, depth-1)
		}
		return out
	case []any:
		if depth == 0 {
			return "[nested too deeply]"
		}
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = tidyReport(x, depth-1)
		}
		return out
	case json.Number: // 1e400000 is one, and no numeric
		if f, err := v.Float64(); err != nil || f > 1e300 || f < -1e300 {
			return v.String()
		}
	}
	return value
}

// cutReport keeps the small fields of a report that is too large, the beginning of a text where that helps, and the names
// of what is left out.
func cutReport(report map[string]any) map[string]any {
	const room = mostReport - 4096 // for the note
	sizes := make(map[string]int, len(report))
	for name, value := range report {
		b, _ := json.Marshal(tidyReport(value, mostDepth)) // what cannot be written has no size, and is left out below
		sizes[name] = len(b) + len(name) + 8
	}
	kept, used := map[string]any{}, 0
	var cut []string
	for _, name := range slices.SortedFunc(maps.Keys(report), func(a, b string) int {
		return cmp.Or(cmp.Compare(sizes[a], sizes[b]), cmp.Compare(a, b))
	}) {
		if used+sizes[name] <= room {
			kept[name], used = tidyReport(report[name], mostDepth), used+sizes[name]
			continue
		}
		cut = append(cut, fmt.Sprintf("%.60s (%d bytes)", name, sizes[name]))
		if text, ok := report[name].(string); ok && room-used > 1024 {
			text = beginning(text, room-used-len(name)-8)
			kept[name], used = text, room
		}
	}
	kept[cutField] = beginning(fmt.Sprintf("a report has at most %d bytes, cut or left out: %s", mostReport, strings.Join(cut, ", ")), 2048)
	return kept
}

// beginning is as much of a text as is written in n bytes of JSON.
func beginning(text string, n int) string {
	for i, r := range text {
		switch {
		case r == utf8.RuneError || r < ' ' || r == '<' || r == '>' || r == '&' || r == '\u2028' || r == '\u2029':
			n -= 6
		case r == '"' || r == '\\':
			n -= 2
		default:
			n -= utf8.RuneLen(r)
		}
		if n < 0 {
			return text[:i]
		}
	}
	return text
}

// clean drops what PostgreSQL's text cannot hold: zero bytes and broken UTF-8.
func clean(s string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", ""), "\uFFFD")
}

// packOutputs is clean for JSON, and bounded in depth as reports are; what cannot be written down is left out rather than the attempt refused.
func packOutputs(outputs map[string]any) []byte {
	if len(outputs) == 0 {
		return nil
	}
	b, err := json.Marshal(tidyReport(outputs, mostDepth))
	if err != nil {
		return nil
	}
	return fit(b)
}

// checkTexts refuses what the database does not take: it would fail the statement in which others are leased their jobs too.
// Names are bounded as well: those of nodes are parts of keys, which have bounds of their own, and pilots are remembered for a while.
func checkTexts(req *PullRequest) error {
	switch {
	case job.WrongName(req.Queue):
		return job.BadName("queue", req.Queue)
	case job.WrongName(req.Pilot):
		return job.BadName("pilot", req.Pilot)
	case job.WrongName(req.Node):
		return job.BadName("node", req.Node)
	case len(req.Devices) > resource.MaxDevices:
		return job.Wrong("devices", fmt.Sprintf("%d devices", len(req.Devices)), fmt.Sprintf("at most %d", resource.MaxDevices))
	case len(req.Slot.Labels) > job.MostLabels:
		return job.Wrong("slot.labels", fmt.Sprintf("%d labels", len(req.Slot.Labels)), fmt.Sprintf("at most %d", job.MostLabels))
	}
	for i, id := range req.Devices {
		if job.WrongName(id) {
			return job.BadName(fmt.Sprintf("devices[%d]", i), id)
		}
	}
	for name, value := range req.Slot.Labels {
		if job.WrongName(name) {
			return job.BadName("slot.labels", name)
		}
		if job.WrongName(value) {
			return job.BadName("slot.labels", value)
		}
	}
	return nil
}

// Bounds of what an attempt may have used, as it is written down: 30 years of one core, and a petabyte. A pilot that says
// more has miscounted; its result counts all the same. The sum over all attempts that there may ever be fits a bigint of
// milliseconds.
const (
	mostCPUSeconds = 1e9
	mostMemoryMB   = 1_000_000_000
)

// bounded is the usage as it is written down. What is no number is none.
func bounded(u Usage) Usage {
	if !(u.CPUSeconds > 0) {
		u.CPUSeconds = 0
	}
	return Usage{CPUSeconds: min(u.CPUSeconds, mostCPUSeconds), MemoryMB: min(max(0, u.MemoryMB), mostMemoryMB)}
}
