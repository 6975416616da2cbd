package taskspec

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/dispatcher/job"
	"github.com/divvyhq/divvy/generator/spec"
)

// nScouts is how many scouts PanDA makes of a task.
const nScouts = 10

// scouts asks for scouts where the task does; skipScout goes before useScout.
func (t *translation) scouts() {
	if use, skip := t.in.flag("useScout"), t.in.flag("skipScout"); use && !skip {
		t.spec.Scout = nScouts
	}
}

// work splits the task: files of pfnList by nFilesPerJob, events by nEventsPerJob or to fit, or so many pieces without input. Events
// beside files go first where nothing says how many files: each job gets them all.
func (t *translation) work() {
	files := t.in.Names("pfnList")
	filesPerJob, nFiles := t.in.whole("nFilesPerJob", 1), t.in.whole("nFiles", 1)
	events, eventsPerJob := t.in.whole("nEvents", 1), t.in.whole("nEventsPerJob", 1)
	noInput := t.in.flag("noInput")
	if len(files) > 0 && nFiles == 0 && filesPerJob == 0 && events > 0 && eventsPerJob > 0 {
		files, t.shared = nil, files
	}
	switch {
	case len(files) > 0:
		if nFiles > 0 && nFiles < int64(len(files)) {
			files = files[:nFiles]
		}
		t.spec.Inputs, t.spec.PerJob = spec.Named(files...), max(filesPerJob, 1)
		for name, n := range map[string]int64{"nEvents": events, "nEventsPerJob": eventsPerJob} {
			if n > 0 {
				t.in.ignore(name, "how many events are in a file is not known here: files are split by nFilesPerJob")
			}
		}
	case events > 0:
		t.spec.Events = &spec.Events{Total: events, PerJob: eventsPerJob}
		cpu, _ := wire.ToNumber(t.in.Left["cpuTime"])
		switch t.fits = eventsPerJob == 0 && wire.Absent(t.in.Left["walltime"]) && (t.spec.Scout > 0 || cpu > 0); {
		case t.fits: // needs says how
		case eventsPerJob == 0:
			t.spec.Events.PerJob = events
		}
		for name, n := range map[string]int64{"nFiles": nFiles, "nFilesPerJob": filesPerJob} {
			if n > 0 {
				t.in.ignore(name, "there are no files: events are split by nEventsPerJob")
			}
		}
	case nFiles > 0:
		perJob := max(filesPerJob, 1)
		t.spec.Count = nFiles/perJob + min(nFiles%perJob, 1)
	case noInput:
		t.spec.Count = 1
	case len(t.in.faults) == 0:
		t.in.fault("nEvents", "nothing says how many jobs the task has: noInput with nEvents and nEventsPerJob, or pfnList with nFilesPerJob")
	}
}

// command is the transformation with its arguments, or without one what a shell makes of the job parameters.
func (t *translation) command() {
	if _, given := t.in.Left["jobParameters"]; !given {
		t.in.fault("jobParameters", "is missing: a list such as [{\"type\": \"constant\", \"value\": \"-c 'echo hello'\"}]")
		return
	}
	var line strings.Builder
	for i, p := range t.parameters() {
		value := t.value(fmt.Sprintf("jobParameters[%d]", i), p)
		line.WriteString(value)
		if together, said := wire.ToBool(p["padding"]); !said || together {
			line.WriteByte(' ')
		}
	}
	if t.spec.Transformation == "" {
		t.spec.Command = []string{"sh", "-c", strings.TrimSpace(line.String())}
		return
	}
	words, err := ShellWords(line.String())
	if err != nil {
		t.in.fault("jobParameters", "%s", err)
	}
	if t.runGen {
		t.runGenKnows(words)
	}
	t.spec.Command = append([]string{job.Literal(t.spec.Transformation)}, words...)
}

// parameters are the items of jobParameters; one text stands for one constant.
func (t *translation) parameters() (items []map[string]any) {
	v := t.in.take("jobParameters")
	if s, ok := v.(string); ok {
		return []map[string]any{{"type": "constant", "value": s}}
	}
	all, ok := v.([]any)
	if !ok && v != nil {
		t.in.fault("jobParameters", "must be of type list, got %s", wire.KindOf(v))
	}
	for i, item := range all {
		p, ok := item.(map[string]any)
		if !ok {
			t.in.fault(fmt.Sprintf("jobParameters[%d]", i), "must be of type dict, got %s", wire.KindOf(item))
			p = map[string]any{"type": "constant"}
		}
		items = append(items, p)
	}
	return items
}

// value is what an item puts into the command.
func (t *translation) value(name string, p map[string]any) string {
	if !wire.Absent(p["offset"]) {
		n, ok := wire.Coerce(p["offset"], wire.Integer)
		f, _ := wire.ToNumber(p["offset"])
		if t.offset, _ = n.(int64); !ok || f != math.Trunc(f) || t.offset < 0 || t.offset > maxOffset {
			t.in.fault(name+".offset", "%v is no whole number from 0 to %d", p["offset"], int64(maxOffset))
			t.offset = 0
		}
	}
	defer func() { t.offset = 0 }()
	dataset, named := wire.ToText(p["dataset"])
	switch role, _ := wire.ToText(p["param_type"]); role {
	case "input":
		if named && dataset != "" && len(t.spec.Inputs) == 0 && t.shared == nil {
			t.in.fault(name+".dataset", NoCatalog+": give the files as pfnList, or noInput with nEvents")
		}
	case "output", "log":
		if named && role == "output" && t.runGen {
			t.output(name, p)
		} else if named {
			t.in.ignore(name+".dataset", NoCatalog+": outputs are what the payload writes")
		}
	}
	if kind, _ := wire.ToText(p["type"]); kind != "constant" && kind != "template" {
		t.in.fault(name+".type", "%q is not one of constant, template", kind)
	}
	if hidden, _ := wire.ToBool(p["hidden"]); hidden || wire.Absent(p["value"]) {
		return ""
	}
	value, ok := wire.ToText(p["value"])
	if !ok {
		t.in.fault(name+".value", "must be of type str, got %s", wire.KindOf(p["value"]))
	}
	return t.filled(name+".value", value)
}

func (t *translation) filled(name, text string) string {
	return placeholder.ReplaceAllStringFunc(job.Literal(text), func(text string) string { return t.fill(name, text) })
}

// placeholder is a thing that is filled in for each job: ${IN}, ${SN/P}, ${RNDMSEED:offset}.
var placeholder = regexp.MustCompile(`\$\{[A-Z][A-Z0-9_]*(/[A-Z]+)*(:[^}]*)?\}`)

// fillers are what is known of them, by the letters that they begin with. Serial numbers and seeds, nth, begin at 1 and the offset of
// their item, as in JEDI.
var fillers = map[string]string{
	"IN": "{{.Inputs}}", "SN": nth, "SEQNUMBER": nth, "RNDMSEED": nth, "SKIPEVENTS": "{{.FirstEvent}}", "MAXEVENTS": "{{.Events}}",
}

const (
	nth       = "{{.Index+%d}}"
	maxOffset = 1e15
)

func (t *translation) fill(name, text string) string {
	word := strings.TrimRight(placeholderWord.FindString(text[2:]), "0123456789")
	out, known := fillers[word]
	switch {
	case out == nth:
		out = fmt.Sprintf(nth, 1+t.offset)
	case word == "IN" && t.shared != nil:
		out = job.Literal(strings.Join(t.shared, ","))
	}
	switch {
	case t.runGen && text == "${SURL}":
		return text
	case t.runGen && (text == "${SN/P}" || text == "${IN/T}") && (word != "IN" || len(t.spec.Inputs) > 0 || t.shared != nil):
		return strings.TrimSuffix(text, "}") + ":" + out + "}"
	case !known:
		t.in.fault(name, "%s is not known here, only ${IN}, ${SN}, ${SEQNUMBER}, ${RNDMSEED}, ${SKIPEVENTS} and ${MAXEVENTS}", text)
	case word == "IN" && len(t.spec.Inputs) == 0 && t.shared == nil:
		t.in.fault(name, "%s without pfnList", text)
	case word == "IN" && t.spec.PerJob > 1:
		t.in.ignore(name, "the files of %s are not joined by commas: they are arguments of their own where it stands alone, else set apart by spaces", text)
	}
	return out
}

var placeholderWord = regexp.MustCompile(`^[A-Z][A-Z0-9_]*`)

// ShellWords cuts a line into words as a shell does, quotes and backslashes included; nothing else is special. It is what
// pilots do with job parameters.
func ShellWords(line string) (words []string, err error) {
	var word strings.Builder
	begun, quote := false, rune(0)
	runes := []rune(line)
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		switch {
		case quote == '\'' && c != '\'', quote == '"' && c != '"' && c != '\\':
			word.WriteRune(c)
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			begun, quote = true, c
		case c == '\\':
			if i++; i == len(runes) {
				return nil, fmt.Errorf("ends with a backslash that stands for nothing")
			}
			if quote != 0 && !slices.Contains([]rune{'"', '\\'}, runes[i]) {
				word.WriteRune('\\')
			}
			begun = true
			word.WriteRune(runes[i])
		case strings.ContainsRune(" \t\r\n", c):
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			begun = true
			word.WriteRune(c)
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a %c is not closed", quote)
	}
	if begun {
		words = append(words, word.String())
	}
	return words, nil
}
