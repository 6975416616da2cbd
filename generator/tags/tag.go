package tags

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/tagging"
)

// Errors of tasks without a share; api/problem maps each to a status.
var (
	// ErrUntagged: no rule gives the task a share, and the site refuses such tasks. (422)
	ErrUntagged = errors.New("no share for this task")
	// ErrNoSite: no site file was ever applied, so there is no share that a task could have. (409)
	ErrNoSite = errors.New("no site file has been applied yet")
)

// Explicit is the verdict on a task that names its share.
const Explicit = "explicit"

// Tag is where a task and its jobs go.
type Tag struct {
	State      string         // ready, or waiting when nothing matches and such tasks are held
	Reason     string         // of waiting
	Share      shares.ShareID // of the jobs; 0 = none yet
	Own        shares.ShareID // that the task asked for, when its jobs go elsewhere; else 0
	Attributes tagging.Attributes
	By         view.TaggedBy
	Version    int64
}

// Path of the share of the jobs, "" while there is none.
func (t *Tag) Path(st *site.Site) string {
	i, ok := st.Tree.ByID(t.Share)
	if t.Share == 0 || !ok {
		return ""
	}
	return st.Tree.Nodes[i].Path
}

// Of finds the share of a new task. Errors: ErrNoSite, ErrUntagged, and ErrInvalid for an explicit share that is
// no leaf.
func Of(st *site.Site, s *spec.Spec) (Tag, error) {
	if st.Number == 0 {
		return Tag{}, ErrNoSite
	}
	a := s.Attributes()
	if s.Share == "" {
		t := Again(st, a)
		if t.By.Verdict == string(tagging.Reject) {
			return Tag{}, fmt.Errorf("%w: %s", ErrUntagged, t.Reason)
		}
		return t, nil
	}
	own, err := Leaf(st, s.Share)
	if err != nil {
		return Tag{}, err
	}
	t := Tag{State: "ready", Share: own, Attributes: a, By: view.TaggedBy{Verdict: Explicit}, Version: st.Number}
	if path, ok := st.Tags.TagJob(a); ok && path != s.Share {
		if t.Share, err = Leaf(st, path); err != nil {
			return Tag{}, err
		}
		t.Own = own
	}
	return t, nil
}

// Again asks the rules only. A task that none matches is waiting, whether new ones would be held or rejected.
func Again(st *site.Site, a tagging.Attributes) Tag {
	t := Tag{State: "waiting", Attributes: a, Version: st.Number}
	r := tagging.Result{Verdict: tagging.Reject, Rule: -1}
	if st.Tags != nil {
		r = st.Tags.Tag(a)
	}
	t.By = view.TaggedBy{Verdict: string(r.Verdict), Later: r.Later}
	if r.Rule >= 0 {
		t.By.Rule = &r.Rule
	}
	switch r.Verdict {
	case tagging.Matched, tagging.Default:
		if id, err := Leaf(st, r.Share); err == nil { // Compile made sure that it is one
			t.State, t.Share = "ready", id
		}
	default:
		t.Reason = noMatch(st, r)
	}
	return t
}

// noMatch says that no rule matches, and which one came closest.
func noMatch(st *site.Site, r tagging.Result) string {
	switch {
	case st.Number == 0:
		return "no site file has been applied yet, so there are no shares"
	case len(r.Trace) == 0:
		return "the site has no tagging rules: name the share"
	}
	best, bestMatched := 0, -1
	for i, step := range r.Trace {
		matched := 0
		for _, c := range step.Checks {
			if c.Matched {
				matched++
			}
		}
		if matched > bestMatched {
			best, bestMatched = i, matched
		}
	}
	step := r.Trace[best]
	text := fmt.Sprintf("no tagging rule matches; closest is rule %d (share %s)", step.Rule+1, step.Share)
	if n := len(step.Checks); n > 0 {
		c := step.Checks[n-1] // checks end with the first that fails
		text += fmt.Sprintf(": %s is %q, not %q", c.Field, c.Value, c.Pattern)
	}
	return text
}

// Leaf finds a share that may hold jobs.
func Leaf(st *site.Site, path string) (shares.ShareID, error) {
	i, ok := st.Tree.ByPath(path)
	switch {
	case path == "", !ok:
		var leaves []string
		for _, l := range st.Tree.Leaves() {
			leaves = append(leaves, st.Tree.Nodes[l].Path)
		}
		return 0, spec.Invalid("share", fmt.Sprintf("there is no share %q", path), strict.DidYouMean(path, leaves))
	case !st.Tree.Leaf(i):
		var below []string
		for _, c := range st.Tree.Nodes[i].Children {
			below = append(below, st.Tree.Nodes[c].Path)
		}
		return 0, spec.Invalid("share", fmt.Sprintf("%q is not a leaf", path), "jobs belong to leaves, as below "+strings.Join(below, ", "))
	}
	return st.Tree.Nodes[i].ID, nil
}

// TagTest explains which share a task would get, rule by rule.
type TagTest struct {
	Share      string             `json:"share" doc:"Share of the task; empty when it would be held or refused."`
	JobShare   string             `json:"job_share,omitempty" doc:"Share of its jobs, where a rule on a job attribute says so."`
	Verdict    string             `json:"verdict" enum:"explicit,matched,default,hold,reject,invalid"`
	Reason     string             `json:"reason,omitempty" doc:"Why there is no share."`
	CannotRun  string             `json:"cannot_run,omitempty" doc:"Why no queue of the site can run its jobs, or those of one of its roles."`
	Attributes tagging.Attributes `json:"attributes" doc:"What the rules see."`
	Rules      tagging.Result     `json:"rules" doc:"What the rules say, whatever share the task names."`
}

// Test tells what Submit would do about the share of a task, and changes nothing.
func Test(st *site.Site, s spec.Spec) TagTest {
	a := s.Attributes()
	test := TagTest{Attributes: a, Rules: tagging.Result{Verdict: tagging.Reject, Rule: -1}}
	if st.Tags != nil {
		test.Rules = st.Tags.Tag(a)
	}
	t, err := Of(st, &s)
	switch {
	case errors.Is(err, ErrUntagged), errors.Is(err, ErrNoSite):
		test.Verdict, test.Reason = string(tagging.Reject), noMatch(st, test.Rules)
		return test
	case err != nil:
		test.Verdict, test.Reason = "invalid", err.Error()
		return test
	}
	test.Verdict, test.Reason = t.By.Verdict, t.Reason
	test.Share = Path(st, t.Share)
	if t.Own != 0 {
		test.Share, test.JobShare = Path(st, t.Own), test.Share
	}
	test.CannotRun = s.Nowhere(st.Version(), cmp.Or(test.JobShare, test.Share))
	return test
}

// Path of a share; empty: the site has no such share.
func Path(st *site.Site, id shares.ShareID) string {
	if i, ok := st.Tree.ByID(id); ok {
		return st.Tree.Nodes[i].Path
	}
	return ""
}
