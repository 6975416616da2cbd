package taskspec

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/divvyhq/divvy/api/panda/wire"
	"github.com/divvyhq/divvy/dispatcher/job"
)

// panda-client's tasks name no transformation: PanDA's server knows it by the processing type. Those of prun run by runGen. What stays
// open until a pilot has the job, the address that the pilot knows and the id of the task, is left in the command as PanDA writes it.
//
//	${SURL}           where the pilot reached us: the job fetches its archive there
//	$JEDITASKID       the id of the task
//	${SN/P:7}         a number of six digits
//	${IN/T:a b}       a list of inputs as Python writes it

// RunGenName is the program of prun's tasks, by the name that PanDA's server has for it.
const RunGenName = "runGen-00-00-02"

// OutputsVar is the variable that has a job's outputs as PanDA's pilots are told them: LFN|dataset, with commas.
const OutputsVar = "PANDA_OUTPUTS"

// ClientKind is what panda-client has made, in a processing type.
var ClientKind = regexp.MustCompile(`^panda-client-\S+-jedi-([a-z]+)`)

// notOfClient are the parameters of panda-client's tasks that cannot be had here, and what to do instead. Tasks with them are refused:
// their jobs could only fail.
var notOfClient = map[string]string{
	"buildSpec":     "there are no build jobs here: submit with --noBuild, and compile before or in --exec",
	"preproSpec":    "there is no catalogue of runs here: submit without a good run list, and give files by --pfnList",
	"mergeSpec":     "there are no merge jobs here: submit without --mergeOutput, and merge in a task of its own",
	"multiStepExec": "containers are not started here: submit without --containerImage, and start the image in --exec, such as apptainer exec IMAGE COMMAND",
	"hpoWorkflow":   "there is no service of hyperparameters here: submit the points of the search as jobs of prun",
	"loadXML":       "jobs are not described by XML here: submit without --loadXML",
	"tarBallViaDDM": NoCatalog + ": submit without --tarBallViaDDM",
	"useSecrets":    "no secrets are kept here: submit without --useSecrets",
}

// runGenTakes are the options that runGen knows.
var runGenTakes = []string{"-a", "-i", "-j", "-o", "-p", "-r", "--sourceURL", "--writeInputToTxt", "--givenPFN", "--execWithRealFileNames"}

// client prepares a task of panda-client.
func (t *translation) client() {
	kind := ClientKind.FindStringSubmatch(t.spec.ProcessingType)
	if kind == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(notOfClient)) {
		if t.in.take(name) != nil {
			t.in.fault(name, "%s", notOfClient[name])
		}
	}
	if t.spec.Transformation != "" {
		return
	}
	t.runGen = true
	if kind[1] != "run" {
		t.in.fault("processingType", "%s: only tasks of prun have a transformation here; the environments of pathena and of old containers are not: give prun the command as --exec",
			t.spec.ProcessingType)
	}
	t.spec.Transformation = RunGenName
	if t.in.take("sourceURL") != nil {
		t.in.ignore("sourceURL", "jobs fetch what was uploaded where their pilot reaches the dispatcher")
	}
}

// output notes an output of prun's: the pilot stores it.
func (t *translation) output(name string, p map[string]any) {
	lfn, _ := wire.ToText(p["value"])
	dataset, _ := wire.ToText(p["dataset"])
	if strings.ContainsAny(lfn+dataset, ",|") || strings.HasPrefix(lfn, "regex") {
		t.in.fault(name, "%q: outputs have names here, no pattern but a *", lfn)
		return
	}
	if t.spec.Env == nil {
		t.spec.Env = map[string]string{}
	}
	all := t.spec.Env[OutputsVar]
	if all != "" {
		all += ","
	}
	t.spec.Env[OutputsVar] = all + t.filled(name+".value", lfn) + "|" + job.Literal(strings.TrimSuffix(dataset, "/"))
}

// runGenKnows faults words of a command that runGen could do nothing with.
func (t *translation) runGenKnows(words []string) {
	for _, word := range words {
		name, _, _ := strings.Cut(word, "=")
		if strings.HasPrefix(word, "--") && !slices.Contains(runGenTakes, name) {
			t.in.fault("jobParameters", "%s is not known here: environments are the command's own business", name)
		}
	}
}

// late is what may stand in the command of a task of prun until a pilot has the job.
var late = regexp.MustCompile(`\$\{SURL\}|\$JEDITASKID|\$\{SN/P:([^}]*)\}|\$\{IN/T:([^}]*)\}`)

// FillLate fills it in.
func FillLate(text, base string, task int64) string {
	return late.ReplaceAllStringFunc(text, func(found string) string {
		_, value, _ := strings.Cut(strings.TrimSuffix(found, "}"), ":")
		switch {
		case found == "${SURL}":
			return base
		case found == "$JEDITASKID":
			return strconv.FormatInt(task, 10)
		case strings.HasPrefix(found, "${SN"):
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return value
			}
			return fmt.Sprintf("%06d", n)
		}
		var list []string
		for _, one := range strings.Fields(value) {
			list = append(list, "'"+strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(one)+"'")
		}
		return "[" + strings.Join(list, ", ") + "]"
	})
}

// OutFiles are a job's outputs as a pilot reads them: lists in step, with commas. Without ddmEndPointOut a pilot takes the storage of its
// queue.
type OutFiles struct {
	OutFiles     string `json:"outFiles,omitempty"`
	RealDatasets string `json:"realDatasets,omitempty"`
	ScopeOut     string `json:"scopeOut,omitempty"`
}

// OutputsOf reads the variable.
func OutputsOf(v string) (o OutFiles) {
	if v == "" {
		return o
	}
	var lfns, datasets, scopes []string
	for one := range strings.SplitSeq(v, ",") {
		lfn, dataset, _ := strings.Cut(one, "|")
		lfns, datasets, scopes = append(lfns, lfn), append(datasets, dataset), append(scopes, scopeOf(dataset))
	}
	return OutFiles{strings.Join(lfns, ","), strings.Join(datasets, ","), strings.Join(scopes, ",")}
}

// scopeOf is the scope of a dataset: user.alice of user.alice.test, else its first word.
func scopeOf(dataset string) string {
	words := strings.SplitN(dataset, ".", 3)
	if len(words) > 2 && (words[0] == "user" || words[0] == "group") {
		return words[0] + "." + words[1]
	}
	return words[0]
}
