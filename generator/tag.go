package generator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/tagging"
)

// explicit is the verdict on a task that names its share.
const explicit = "explicit"

// tagged is where a task and its jobs go.
type tagged struct {
	State      string         // ready, or waiting when nothing matches and such tasks are held
	Reason     string         // of waiting
	Share      shares.ShareID // of the jobs; 0 = none yet
	Own        shares.ShareID // that the task asked for, when its jobs go elsewhere; else 0
	Attributes tagging.Attributes
	By         view.TaggedBy
	Version    int64
}

// path of the share of the jobs, "" while there is none.
func (t *tagged) path(st *site.Site) string {
	i, ok := st.Tree.ByID(t.Share)
	if t.Share == 0 || !ok {
		return ""
	}
	return st.Tree.Nodes[i].Path
}

// tagTask finds the share of a new task. Errors: ErrNoSite, ErrUntagged, and ErrInvalid for an explicit share that is
// no leaf.
func tagTask(st *site.Site, s *spec.Spec) (tagged, error) {
	if st.Number == 0 {
		return tagged{}, ErrNoSite
	}
	a := s.Attributes()
	if s.Share == "" {
		t := tagAgain(st, a)
		if t.By.Verdict == string(tagging.Reject) {
			return tagged{}, fmt.Errorf("%w: %s", ErrUntagged, t.Reason)
		}
		return t, nil
	}
	own, err := leafByPath(st, s.Share)
	if err != nil {
		return tagged{}, err
	}
	t := tagged{State: "ready", Share: own, Attributes: a, By: view.TaggedBy{Verdict: explicit}, Version: st.Number}
	if path, ok := st.Tags.TagJob(a); ok && path != s.Share {
		if t.Share, err = leafByPath(st, path); err != nil {
			return tagged{}, err
		}
		t.Own = own
	}
	return t, nil
}

// tagAgain asks the rules only. A task that none matches is waiting, whether new ones would be held or rejected.
func tagAgain(st *site.Site, a tagging.Attributes) tagged {
	t := tagged{State: "waiting", Attributes: a, Version: st.Number}
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
		if id, err := leafByPath(st, r.Share); err == nil { // Compile made sure that it is one
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

// leafByPath finds a share that may hold jobs.
func leafByPath(st *site.Site, path string) (shares.ShareID, error) {
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
	Attributes tagging.Attributes `json:"attributes" doc:"What the rules see."`
	Rules      tagging.Result     `json:"rules" doc:"What the rules say, whatever share the task names."`
}

// TestTags tells what Submit would do about the share of a task, and changes nothing.
func TestTags(st *site.Site, s spec.Spec) TagTest {
	a := s.Attributes()
	test := TagTest{Attributes: a, Rules: tagging.Result{Verdict: tagging.Reject, Rule: -1}}
	if st.Tags != nil {
		test.Rules = st.Tags.Tag(a)
	}
	t, err := tagTask(st, &s)
	switch {
	case errors.Is(err, ErrUntagged), errors.Is(err, ErrNoSite):
		test.Verdict, test.Reason = string(tagging.Reject), noMatch(st, test.Rules)
		return test
	case err != nil:
		test.Verdict, test.Reason = "invalid", err.Error()
		return test
	}
	test.Verdict, test.Reason = t.By.Verdict, t.Reason
	test.Share = pathOf(st, t.Share)
	if t.Own != 0 {
		test.Share, test.JobShare = pathOf(st, t.Own), test.Share
	}
	return test
}

func pathOf(st *site.Site, id shares.ShareID) string {
	if i, ok := st.Tree.ByID(id); ok {
		return st.Tree.Nodes[i].Path
	}
	return ""
}

// reshare gives a task that is about to be tried again another share when its old one is no leaf any more.
func reshare(ctx context.Context, tx pgx.Tx, t lockedTask, st *site.Site) error {
	err := stillLeaf(ctx, tx, t.share())
	if !errors.Is(err, ErrSiteChanged) {
		return err
	}
	tag := tagAgain(st, t.Attributes)
	if tag.Share == 0 {
		return fmt.Errorf("%w: its share was removed, and %s", ErrUntagged, tag.Reason)
	}
	if err := stillLeaf(ctx, tx, tag.Share); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, query["reshare"], pgx.StrictNamedArgs{"task": t.ID, "share": shareArg(tag.Share), "tagged_by": tag.By,
		"site_version": st.Number})
	return err
}
