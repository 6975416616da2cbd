package file

import (
	"slices"
	"strings"

	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/retry"
	"github.com/divvyhq/divvy/shares/tagging"
)

// Content is what a checked site file says.
type Content struct {
	Source    string // the file as it was written
	Tree      *shares.Tree
	Queues    []shares.Queue // in file order
	Rules     []tagging.Rule
	OnNoMatch string // reject, hold or the path of a leaf
	Tags      *tagging.Table

	Resources      []shares.Resource // in file order, with what was set beside the file when it was loaded
	ClaimTemplates []shares.ClaimTemplate
	Attempts       *retry.Policy // retry_rules, exit_codes and attempts
	Limits         []Limit       // in file order

	Was      map[string]string   // path → the path that the share had before, as the file says
	QueueWas map[string]string   // the same of the names of queues
	Pilots   map[string][]string // queue → who may pull there; absent = every pilot
	Notes    []string            // what is allowed but may be a slip
}

// Queue finds a queue by name.
func (s *Content) Queue(name string) (shares.Queue, bool) {
	i := slices.IndexFunc(s.Queues, func(q shares.Queue) bool { return q.Name == name })
	if i < 0 {
		return shares.Queue{}, false
	}
	return s.Queues[i], true
}

// Leaf says whether path is a share that may hold jobs.
func (s *Content) Leaf(path string) bool {
	i, ok := s.Tree.ByPath(path)
	return ok && s.Tree.Leaf(i)
}

// What on_no_match may say besides a share.
const (
	Reject = "reject"
	Hold   = "hold"
)

// Parse reads and checks a site file. The error is strict.Problems: everything that is wrong, in file order.
func Parse(name string, src []byte) (*Content, error) {
	docs, report := strict.Parse(name, src, strict.Limits{})
	switch {
	case report.Err() != nil:
		return nil, report.Err()
	case len(docs) == 0 || docs[0].IsNull():
		report.Add("the file is empty", "it needs shares:")
		return nil, report.Err()
	case len(docs) > 1:
		docs[1].Fail("a second document", "a site is one document: take out the ---")
	}
	s := &Content{Source: string(src), OnNoMatch: Reject, Attempts: DefaultAttempts()}
	s.read(docs[0])
	if err := report.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// read goes through the file first and checks across its parts afterwards, whatever their order in the file.
func (s *Content) read(doc strict.Value) {
	var all []*share
	var queues []queueSpec
	var rules []rule
	var resources []*resource
	var templates []*template
	var limits []limit
	seen := doc.Mapping(strict.Fields{
		"shares":          func(v strict.Value) { all = readShares(v, "") },
		"queues":          func(v strict.Value) { queues = readQueues(v) },
		"resources":       func(v strict.Value) { resources = readResources(v) },
		"claim_templates": func(v strict.Value) { templates = readTemplates(v) },
		"tags":            func(v strict.Value) { rules = readRules(v) },
		"retry_rules":     func(v strict.Value) { s.Attempts.Rules = readRetryRules(v) },
		"exit_codes":      func(v strict.Value) { s.Attempts.Codes = readExitCodes(v) },
		"attempts":        func(v strict.Value) { readAttempts(v, s.Attempts) },
		"limits":          func(v strict.Value) { limits = readLimits(v) },
		"on_no_match":     func(v strict.Value) { s.OnNoMatch, _ = v.NonEmpty() },
	})
	seen.Require("shares")
	if seen.Has("shares") && seen.At("shares").IsList() && len(all) == 0 && !seen.At("shares").Failed() {
		seen.At("shares").Fail("shares is empty", "jobs need at least one share")
	}
	s.Tree = buildTree(seen.At("shares"), all)
	s.Was = formerPaths(all)
	s.addQueues(queues)
	checkPools(all, s.Queues)
	s.notePools(all)
	checkSharePatterns(queues, all)
	s.addLimits(limits, all)
	s.addResources(resources, all)
	s.addTemplates(templates, seen.At("resources"))
	s.addRules(rules, all, seen.At("on_no_match"))
}

// Bounds of a file: what is more is a mistake, or wants another design.
const (
	maxQueues = 5000
	maxRules  = 1000
)

// tooMany refuses a list without reading it.
func tooMany(v strict.Value, n, most int) {
	v.Failf("%s: %d entries, more than %d", v.Name(), n, most)
}

func (s *Content) addQueues(queues []queueSpec) {
	s.QueueWas, s.Pilots = map[string]string{}, map[string][]string{}
	for _, q := range queues {
		s.Queues = append(s.Queues, q.Queue)
		if q.pilots != nil {
			s.Pilots[q.Name] = q.pilots
		}
		if q.was != "" && q.was != q.Name {
			s.QueueWas[q.Name] = q.was
		}
	}
}

// formerPaths gathers was: of all shares; two shares cannot both have been the same one.
func formerPaths(all []*share) map[string]string {
	was, claimed := map[string]string{}, map[string]string{}
	each(all, func(s *share) {
		if s.was == "" || s.was == s.path {
			return
		}
		if other, dup := claimed[s.was]; dup {
			s.seen.At("was").Failf("share %q already was %q", other, s.was)
			return
		}
		claimed[s.was], was[s.path] = s.path, s.was
	})
	return was
}

// leaves lists the paths that may hold jobs, and inner those that may not. Shares without a name and with that of
// a sibling, which a broken file may have, are left out: the lists are what hints offer.
func leaves(all []*share) (leaf, inner []string) {
	known := map[string]bool{}
	each(all, func(s *share) {
		if s.Name == "" || known[s.path] {
			return
		}
		known[s.path] = true
		if len(s.children) == 0 {
			leaf = append(leaf, s.path)
		} else {
			inner = append(inner, s.path)
		}
	})
	return leaf, inner
}

// leafHint is what to write in place of a path that is no leaf.
func leafHint(path string, leaf, inner []string) string {
	if !slices.Contains(inner, path) {
		return strict.DidYouMean(path, leaf)
	}
	var below []string
	for _, l := range leaf {
		if strings.HasPrefix(l, path+"/") {
			below = append(below, l)
		}
	}
	return "jobs belong to leaves: " + strings.Join(below[:min(len(below), 8)], ", ")
}
