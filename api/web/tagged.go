package web

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/divvyhq/divvy/generator/view"
	"github.com/divvyhq/divvy/shares/tagging"
)

// rulesLast is how long the rules of a site version are kept: they never change.
const rulesLast = 10 * time.Minute

// taggedSays is how a task got its share, with the rule that gave it. Where the version with the rule cannot be read it is
// named by its number.
func (w *work) taggedSays(ctx context.Context, t view.Task) string {
	in := fmt.Sprintf(" in site version %d", t.SiteVersion)
	switch by := t.TaggedBy; {
	case by.Verdict == "explicit":
		return "it names its share itself"
	case by.Verdict == string(tagging.Matched) && by.Rule != nil:
		says := fmt.Sprintf("by tagging rule %d%s", *by.Rule+1, in)
		rules, err := w.rules.get(t.SiteVersion, func() ([]tagging.Rule, error) {
			st, err := w.site.Get(ctx, t.SiteVersion)
			if err != nil {
				return nil, err
			}
			return st.Rules, nil
		})
		if err == nil && *by.Rule < len(rules) {
			says += ": " + ruleSays(rules[*by.Rule])
		}
		return says
	case by.Verdict == string(tagging.Default):
		return "no tagging rule matches it, and on_no_match names this share" + in
	case by.Verdict == string(tagging.Hold):
		return "no tagging rule matches it, and on_no_match holds such tasks" + in
	default:
		return by.Verdict + in
	}
}

// ruleSays is a rule in a line: label managed, working_group (AP|GP)_.* → Production/MC.
func ruleSays(r tagging.Rule) string {
	var all []string
	for _, name := range sortedKeys(r.Match) {
		all = append(all, name+" "+r.Match[name])
	}
	return strings.Join(all, ", ") + " → " + r.Share
}
