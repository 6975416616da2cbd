package site

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/divvyhq/divvy/internal/site/file"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/tagging"
)

// Changes is how one site differs from another.
type Changes struct {
	Shares         []shares.Change `json:"shares"`
	Queues         []QueueChange   `json:"queues"`
	Resources      []EntryChange   `json:"resources"`
	ClaimTemplates []EntryChange   `json:"claim_templates"`
	Rules          []RuleChange    `json:"rules"`
	RetryRules     []EntryChange   `json:"retry_rules"`
	Attempts       []EntryChange   `json:"attempts" doc:"Of attempts and exit_codes."`
	Limits         []RuleChange    `json:"limits"`
	Webhooks       []EntryChange   `json:"webhooks"`
	OnNoMatch      *NoMatchChange  `json:"on_no_match,omitempty"`
}

// NoMatchChange is a change of on_no_match.
type NoMatchChange struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

// None reports whether the two sites mean the same.
func (c Changes) None() bool {
	return len(c.Shares) == 0 && len(c.Queues) == 0 && len(c.Resources) == 0 && len(c.ClaimTemplates) == 0 &&
		len(c.Rules) == 0 && len(c.RetryRules) == 0 && len(c.Attempts) == 0 && len(c.Limits) == 0 && len(c.Webhooks) == 0 && c.OnNoMatch == nil
}

// ChangeLine is one difference as text.
type ChangeLine struct{ Kind, Text string }

// Sign returns + for what was added, − for what was removed, else ~.
func (l ChangeLine) Sign() string {
	switch l.Kind {
	case "added":
		return "+"
	case "removed":
		return "−"
	}
	return "~"
}

// Lines lists the differences.
func (c Changes) Lines() (lines []ChangeLine) {
	add := func(kind, text string) { lines = append(lines, ChangeLine{kind, text}) }
	entries := func(what string, all []EntryChange) {
		for _, e := range all {
			add(e.Kind, e.Line(what))
		}
	}
	rules := func(what string, all []RuleChange) {
		for _, r := range all {
			add(r.Kind, r.Line(what))
		}
	}
	for _, s := range c.Shares {
		add(string(s.Kind), "share "+s.String())
	}
	for _, q := range c.Queues {
		add(q.Kind, q.String())
	}
	entries("resource", c.Resources)
	entries("claim template", c.ClaimTemplates)
	rules("rule", c.Rules)
	rules("limit", c.Limits)
	entries("retry rule", c.RetryRules)
	entries("site", c.Attempts)
	entries("webhook", c.Webhooks)
	if n := c.OnNoMatch; n != nil {
		add("changed", fmt.Sprintf("on_no_match: %s → %s", n.Before, n.After))
	}
	return lines
}

// QueueChange is one difference between the queues of two sites.
type QueueChange struct {
	Kind   string `json:"kind" enum:"added,removed,renamed,changed"`
	Queue  string `json:"queue" doc:"Name in the new site; of a removed queue in the old one."`
	From   string `json:"from,omitempty" doc:"Former name, when renamed."`
	Field  string `json:"field,omitempty"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// String formats the change for people.
func (c QueueChange) String() string {
	switch c.Kind {
	case "renamed":
		return fmt.Sprintf("queue %s renamed to %s", c.From, c.Queue)
	case "changed":
		return fmt.Sprintf("queue %s: %s %s → %s", c.Queue, c.Field, cmp.Or(c.Before, "–"), cmp.Or(c.After, "–"))
	}
	return fmt.Sprintf("queue %s %s", c.Queue, c.Kind)
}

// RuleChange is a tagging rule or a limit that only one of two sites has at this position.
type RuleChange struct {
	Kind     string `json:"kind" enum:"added,removed"`
	Position int    `json:"position" doc:"In the site that has it, from 0."`
	Rule     string `json:"rule"`
}

// Line formats the change for people; what names the kind of entry.
func (c RuleChange) Line(what string) string {
	return fmt.Sprintf("%s %d %s: %s", what, c.Position+1, c.Kind, c.Rule)
}

// diff lists the changes from a to b. It matches shares and queues by id, or by name where one has no id.
func diff(a, b *Site) Changes {
	c := Changes{Shares: shares.Diff(a.Tree, b.Tree), Queues: diffQueues(a, b), Rules: diffTexts(ruleTexts(a.Rules), ruleTexts(b.Rules)),
		Limits:         diffTexts(limitTexts(a.Limits), limitTexts(b.Limits)),
		Resources:      diffEntries(resourceEntries(a.Resources), resourceEntries(b.Resources)),
		ClaimTemplates: diffEntries(templateEntries(a.ClaimTemplates), templateEntries(b.ClaimTemplates)),
		RetryRules:     diffEntries(ruleEntries(a.Attempts), ruleEntries(b.Attempts)),
		Attempts:       diffEntries(attemptEntries(a.Attempts), attemptEntries(b.Attempts)),
		Webhooks:       diffEntries(webhookEntries(a.Webhooks), webhookEntries(b.Webhooks))}
	if c.Shares == nil {
		c.Shares = []shares.Change{}
	}
	if a.OnNoMatch != b.OnNoMatch {
		c.OnNoMatch = &NoMatchChange{Before: a.OnNoMatch, After: b.OnNoMatch}
	}
	return c
}

func diffQueues(a, b *Site) []QueueChange {
	out := []QueueChange{}
	kept := map[string]bool{}
	for _, queue := range b.Queues {
		old, ok := formerQueue(a.Queues, queue)
		if !ok {
			out = append(out, QueueChange{Kind: "added", Queue: queue.Name})
			continue
		}
		kept[old.Name] = true
		if old.Name != queue.Name {
			out = append(out, QueueChange{Kind: "renamed", Queue: queue.Name, From: old.Name})
		}
		before, after := a.queueFields(old), b.queueFields(queue)
		for i, f := range after {
			if f[1] != before[i][1] {
				out = append(out, QueueChange{Kind: "changed", Queue: queue.Name, Field: f[0], Before: before[i][1], After: f[1]})
			}
		}
	}
	for _, old := range a.Queues {
		if !kept[old.Name] {
			out = append(out, QueueChange{Kind: "removed", Queue: old.Name})
		}
	}
	return out
}

func formerQueue(a []shares.Queue, queue shares.Queue) (shares.Queue, bool) {
	i := slices.IndexFunc(a, func(o shares.Queue) bool {
		if o.ID != 0 && queue.ID != 0 {
			return o.ID == queue.ID
		}
		return o.Name == queue.Name
	})
	if i < 0 {
		return shares.Queue{}, false
	}
	return a[i], true
}

// queueFields lists the fields of a queue as text under the keys of the site file; "" means absent.
func (s *Site) queueFields(q shares.Queue) [][2]string {
	slots := ""
	if q.Slots != nil {
		slots = strconv.Itoa(*q.Slots)
	}
	count := func(n int64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	walltime, maxIO := "", ""
	if q.MaxIO > 0 {
		maxIO = shares.Units(q.MaxIO).String()
	}
	if q.WalltimeS > 0 {
		walltime = (time.Duration(q.WalltimeS) * time.Second).String()
	}
	provision := ""
	if q.Provision != nil {
		provision = q.Provision.String()
	}
	return [][2]string{{"pool", q.Pool}, {"slots", slots}, {"provision", provision}, {"core_power", shares.Units(q.CorePowerMilli).String()},
		{"cores", count(int64(q.Cores))}, {"memory_mb", count(q.MemoryMB)}, {"disk_mb", count(q.DiskMB)},
		{"walltime", walltime}, {"max_io", maxIO}, {"labels", plainMap(q.Labels)}, {"containers", q.Containers}, {"locations", strings.Join(q.Locations, ", ")},
		{"allow_shares", strings.Join(q.AllowShares, ", ")}, {"deny_shares", strings.Join(q.DenyShares, ", ")}, {"prefer", q.Prefer}, {"pilots", strings.Join(s.Pilots[q.Name], ", ")}}
}

func plainMap(m map[string]string) string {
	parts := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, k+"="+m[k])
	}
	return strings.Join(parts, ", ")
}

// diffTexts returns the shortest edit of ordered rules or limits.
func diffTexts(old, fresh []string) []RuleChange {
	out := []RuleChange{}
	for len(old) > 0 && len(fresh) > 0 && old[len(old)-1] == fresh[len(fresh)-1] {
		old, fresh = old[:len(old)-1], fresh[:len(fresh)-1]
	}
	common := commonTail(old, fresh)
	i, j := 0, 0
	for i < len(old) || j < len(fresh) {
		switch {
		case i < len(old) && j < len(fresh) && old[i] == fresh[j]:
			i, j = i+1, j+1
		case i < len(old) && (j == len(fresh) || common[i+1][j] >= common[i][j+1]):
			out = append(out, RuleChange{Kind: "removed", Position: i, Rule: old[i]})
			i++
		default:
			out = append(out, RuleChange{Kind: "added", Position: j, Rule: fresh[j]})
			j++
		}
	}
	return out
}

// commonTail[i][j] is the length of the longest common subsequence of a[i:] and b[j:].
func commonTail(a, b []string) [][]int {
	n := make([][]int, len(a)+1)
	for i := range n {
		n[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			n[i][j] = max(n[i+1][j], n[i][j+1])
			if a[i] == b[j] {
				n[i][j] = n[i+1][j+1] + 1
			}
		}
	}
	return n
}

func ruleTexts(rules []tagging.Rule) []string {
	texts := make([]string, len(rules))
	for i, r := range rules {
		texts[i] = matchText(r.Match) + " → " + r.Share
	}
	return texts
}

func limitTexts(limits []file.Limit) []string {
	texts := make([]string, len(limits))
	for i, l := range limits {
		texts[i] = l.String()
	}
	return texts
}

// matchText formats the match as JSON for people: a pattern stays as it was written.
func matchText(match map[string]string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(match); err != nil { // a map of strings
		return plainMap(match)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
