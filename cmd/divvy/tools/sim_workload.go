package tools

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/internal/site/file"
	"github.com/divvyhq/divvy/shares"
	"github.com/divvyhq/divvy/shares/sim"
	"github.com/divvyhq/divvy/shares/sim/swf"
)

// workload is what a simulation of a trace works with.
type workload struct {
	name     string // of the trace, for messages
	tree     *shares.Tree
	capacity shares.Units
	jobs     []sim.Job
	left     swf.LeftOut
	every    time.Duration
}

// readWorkload reads trace and site and brings them together.
func readWorkload(c *cli.CLI, file string, f swfFlags) (workload, error) {
	src, name, err := cli.ReadFile(c, file)
	if err != nil {
		return workload{}, err
	}
	trace, err := swf.Read(name, bytes.NewReader(src), f.strict)
	if err != nil {
		return workload{}, err
	}
	if trace.NBroken > 0 {
		fmt.Fprintf(c.Err, "divvy: %s left out, the first: %v; --strict refuses the file and has more\n", show.Plural(int64(trace.NBroken), "broken record"), trace.Broken[0])
	}
	w := workload{name: name}
	records := f.part(trace.Records)
	by, declared, err := sharer(c, &w, f, records)
	if err != nil {
		return workload{}, err
	}
	if w.capacity, err = f.capacity(declared, trace.MaxProcs); err != nil {
		return workload{}, err
	}
	if w.jobs, w.left, err = swf.Jobs(name, records, w.tree, by); err != nil {
		return workload{}, fail.Hintf(err, "%s", f.shareHint(w.tree))
	}
	if trace.NBroken > 0 {
		w.left["broken"] = trace.NBroken
	}
	if len(w.jobs) == 0 {
		return workload{}, fail.Hintf(fmt.Errorf("%s: %w", name, errNoJob), "%d records, %d of them between --from and --limit%s", len(trace.Records), len(records), leftOut(w.left))
	}
	w.every = f.width(w.jobs)
	return w, nil
}

// sharer finds the tree, and who says which share of it a job belongs to. It returns the site, if there is one.
func sharer(c *cli.CLI, w *workload, f swfFlags, records []swf.Record) (swf.Sharer, *site.Site, error) {
	var by swf.Sharer
	if f.mapping != "" {
		m, err := swf.ParseMapping(f.mapping)
		if err != nil {
			return nil, nil, fail.Usagef("--map %w", err)
		}
		by = m.By()
	}
	if f.site == "" {
		if err := f.checkPool(nil); err != nil {
			return nil, nil, err
		}
		var err error
		if w.tree, err = swf.TreeOf(records, by); err != nil {
			return nil, nil, fail.Usagef("--map %s: %w", f.mapping, err)
		}
		return by, nil, nil
	}
	src, name, err := cli.ReadFile(c, f.site)
	if err != nil {
		return nil, nil, err
	}
	s, err := site.Parse(name, src)
	if err != nil {
		return nil, nil, err
	}
	if err := f.checkPool(s); err != nil {
		return nil, nil, err
	}
	w.tree = s.Tree
	if by == nil {
		by = swf.ByRules(s.Tags)
	}
	return by, s, nil
}

// checkPool refuses an unknown pool: the simulation would ignore all figures of the site.
func (f *swfFlags) checkPool(s *site.Site) error {
	known := map[string]bool{}
	if s != nil {
		for _, q := range s.Queues {
			known[q.Pool] = true
		}
	}
	if len(known) == 0 { // figures may name any pool then
		known[file.DefaultPool] = true
		if s != nil {
			namePools(s.Tree, known)
		}
	}
	switch {
	case known[f.pool]:
		return nil
	case s == nil:
		return fail.Usagef("--pool %s: only a site has pools; give --site, or leave --pool out", f.pool)
	}
	return fail.Usagef("--pool %s: %s has no such pool; expected %s", f.pool, f.site, strings.Join(slices.Sorted(maps.Keys(known)), " or "))
}

// namePools adds the pools that plans have figures for.
func namePools(t *shares.Tree, known map[string]bool) {
	for i := range t.Nodes {
		p := &t.Nodes[i].Plan
		for _, by := range []map[string]shares.Units{p.Owned.ByPool, p.Min.ByPool, p.Max.ByPool, p.Lend.ByPool, p.Borrow.ByPool, p.Clamp.ByPool} {
			for pool := range by {
				known[pool] = true
			}
		}
	}
}

// part is the records between --from and --limit, which check has checked. Those of an unknown time stay: it is
// for others to count them.
func (f *swfFlags) part(records []swf.Record) []swf.Record {
	from, _ := shares.ParseDuration(f.from)
	out := slices.Clone(records)
	out = slices.DeleteFunc(out, func(r swf.Record) bool {
		return r.Submit >= 0 && time.Duration(r.Submit)*time.Second < time.Duration(from)
	})
	if f.limit > 0 && f.limit < len(out) {
		out = out[:f.limit]
	}
	return out
}

// capacity is --slots, else what the site's queues have, else what the trace's machine had.
func (f *swfFlags) capacity(s *site.Site, maxProcs int64) (shares.Units, error) {
	if f.slots > 0 {
		return shares.Units(f.slots) * 1000, nil
	}
	if s != nil {
		if u := site.Capacity(s.Version(), f.pool); u > 0 && u < shares.Unlimited {
			return u, nil
		}
	}
	if maxProcs > 0 {
		return shares.Units(maxProcs) * 1000, nil
	}
	return 0, fail.Usagef("--slots is needed: neither the queues of the site nor MaxProcs of the trace say how many cores there are")
}

func (f *swfFlags) width(jobs []sim.Job) time.Duration {
	if every, err := shares.ParseDuration(f.every); err == nil && every > 0 {
		return time.Duration(every)
	}
	first, last := jobs[0].At, jobs[0].At
	for _, j := range jobs {
		first, last = min(first, j.At), max(last, j.At+j.Runtime)
	}
	return everyOf(last - first)
}

// shareHint is what to do about jobs without a share.
func (f *swfFlags) shareHint(t *shares.Tree) string {
	if f.site == "" {
		return "A path of --map must not lead through another one of its shares."
	}
	var leaves []string
	for _, i := range t.Leaves() {
		leaves = append(leaves, t.Nodes[i].Path)
	}
	more := ""
	if n := len(leaves) - 8; n > 0 {
		leaves, more = leaves[:8], fmt.Sprintf(" and %d more", n)
	}
	todo := show.Pick(f.mapping == "", "Add rules to it, let its on_no_match name a share, or give --map.", "Add them to it, or change --map.")
	return fmt.Sprintf("The shares of %s that may hold jobs are %s%s. %s", f.site, strings.Join(leaves, ", "), more, todo)
}

// leftOut lists records that were left out: ", 26 left out: run time unknown 26"; "" for none.
func leftOut(left map[string]int) string {
	total := 0
	var parts []string
	for _, why := range slices.Sorted(maps.Keys(left)) {
		total += left[why]
		parts = append(parts, fmt.Sprintf("%s %d", why, left[why]))
	}
	if total == 0 {
		return ""
	}
	return fmt.Sprintf(", %d left out: %s", total, strings.Join(parts, ", "))
}
