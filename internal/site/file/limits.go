package file

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares"
)

// Limit bounds what tasks that belong together have at a time: those of one user, of one share with all below it, with one
// label, or of what of these it names together. Each user, share or label that its globs match has the bounds for itself. Of
// the limits that name the same, the first that matches a task counts.
type Limit struct {
	User  string `yaml:"user" is:"word=glob"` // globs; "" = it does not say
	Share string `yaml:"share" is:"word=glob"`
	Label string `yaml:"label" is:"word=glob"`

	Tasks *int64        `yaml:"max_active_tasks" is:"..1000000000" doc:"tasks ready, scouting or running"`           // active at a time; nil = no bound
	Ready *int64        `yaml:"max_ready_jobs" is:"..1000000000" doc:"jobs made and not leased"`                     // jobs made and not leased
	Units *shares.Units `yaml:"max_held_units" is:"milli ..1000000000" doc:"units held, ready jobs as if they were"` // held, ready jobs as if they were
}

// Whom says for whom the limit counts a task of that user, label and share; false: it does not concern the task. Of a share
// and those above it, the topmost that the glob matches counts.
func (l Limit) Whom(user, label, share string) (string, bool) {
	var parts []string
	for _, is := range []struct{ what, glob, name string }{{"user", l.User, user}, {"label", l.Label, label}} {
		if is.glob == "" {
			continue
		}
		if !matches(is.glob, is.name) || is.name == "" {
			return "", false
		}
		parts = append(parts, is.what+" "+is.name)
	}
	if l.Share != "" {
		node, ok := topmost(l.Share, share)
		if !ok {
			return "", false
		}
		parts = append(parts, "share "+node)
	}
	return strings.Join(parts, ", "), true
}

// matches says whether a glob means a user or a label. These have no levels as shares have: * stands for any letters, so that
// names with a slash, as in certificates, have limits, too.
func matches(glob, name string) bool {
	const slash, letter = "/", "\x00"
	ok, _ := path.Match(strings.ReplaceAll(glob, slash, letter), strings.ReplaceAll(name, slash, letter))
	return ok
}

// topmost is the first share on the way down to a leaf that a glob matches.
func topmost(glob, leaf string) (string, bool) {
	for i := range len(leaf) + 1 {
		if i == len(leaf) || leaf[i] == '/' {
			if ok, _ := path.Match(glob, leaf[:i]); ok && i > 0 {
				return leaf[:i], true
			}
		}
	}
	return "", false
}

// names says which of user, share and label it names: limits that name the same are exceptions of each other.
func (l Limit) names() [3]bool { return [3]bool{l.User != "", l.Share != "", l.Label != ""} }

// LimitOf is a limit that concerns a task.
type LimitOf struct {
	Limit
	Index int    // in the file
	Whom  string // what it counts the task for
}

// LimitsOf are the limits that concern tasks of that user, label and share, in file order.
func (s *Content) LimitsOf(user, label, share string) []LimitOf {
	var all []LimitOf
	seen := map[[3]bool]bool{}
	for i, l := range s.Limits {
		if seen[l.names()] {
			continue
		}
		if whom, ok := l.Whom(user, label, share); ok {
			seen[l.names()] = true
			all = append(all, LimitOf{Limit: l, Index: i, Whom: whom})
		}
	}
	return all
}

// String is the limit as the file has it, for people.
func (l Limit) String() string {
	var parts []string
	for _, is := range []struct{ key, glob string }{{"user", l.User}, {"share", l.Share}, {"label", l.Label}} {
		if is.glob != "" {
			parts = append(parts, fmt.Sprintf("%s %q", is.key, is.glob))
		}
	}
	text := strings.Join(parts, ", ") + ":"
	for _, is := range []struct {
		key string
		n   *int64
	}{{"max_active_tasks", l.Tasks}, {"max_ready_jobs", l.Ready}} {
		if is.n != nil {
			text += fmt.Sprintf(" %s %d", is.key, *is.n)
		}
	}
	if l.Units != nil {
		text += " max_held_units " + l.Units.String()
	}
	return text
}

// addLimits takes the limits over, and refuses those that bound nothing: that say not whose they are or how much, that mean no
// share, or whose tasks are all bound by one before them.
func (s *Content) addLimits(limits []Limit, v strict.Value, paths []string) {
	s.Limits = limits
	for i, l := range limits {
		at := element(v, i)
		switch {
		case at.Failed():
			continue
		case l.names() == [3]bool{} && !at.Has("user") && !at.Has("share") && !at.Has("label"):
			at.Fail("the limit does not say whose it is", `user, share or label: a glob, "*" for each of them`)
			continue
		case l.Tasks == nil && l.Ready == nil && l.Units == nil:
			at.Fail("the limit has no bound", "max_active_tasks, max_ready_jobs or max_held_units")
			continue
		}
		if l.Share != "" && !slices.ContainsFunc(paths, func(p string) bool { _, ok := topmost(l.Share, p); return ok }) {
			at.At("share").Fail(fmt.Sprintf("share: %q means no share", l.Share), strict.DidYouMean(l.Share, paths))
		}
		for k := range i {
			if limits[k].covers(l) && !element(v, k).Failed() {
				at.Fail(fmt.Sprintf("the limit bounds nothing: that of line %d bounds all that it means", element(v, k).Line()), "of those that name the same the first that matches counts: put exceptions first, and all bounds of one into it")
				break
			}
		}
	}
}

// covers says whether a limit means all that another one means, by the looks of the globs.
func (l Limit) covers(other Limit) bool {
	return l.names() == other.names() && covers(l.User, other.User) && covers(l.Share, other.Share) && covers(l.Label, other.Label)
}

func covers(glob, other string) bool { return glob == other || glob == "*" }
