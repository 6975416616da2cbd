package file

import (
	"fmt"
	"path"
	"slices"

	"github.com/divvyhq/divvy/internal/site/strict"
	"github.com/divvyhq/divvy/shares"
)

// maxPatterns bounds the entries of allow_shares, deny_shares and locations of one queue.
const maxPatterns = 1000

// readLocations reads the names of storages that a queue is near to.
func readLocations(v strict.Value) []string {
	return readEntries(v, func(e strict.Value) (string, bool) {
		s := readName(e, " ,\"'", "for instance CERN-PROD_DATADISK")
		return s, s != ""
	})
}

// readSharePatterns reads paths of shares and globs of them. What they mean is checked once the tree is known.
func readSharePatterns(v strict.Value) []string {
	return readEntries(v, func(e strict.Value) (string, bool) {
		s, ok := e.NonEmpty()
		if _, err := path.Match(s, ""); ok && err != nil {
			e.Fail(fmt.Sprintf("%s: %q is no glob", v.Name(), s), "* stands for any letters of a name, ? for one, [ab] for one of these")
			return "", false
		}
		return s, ok
	})
}

func readEntries(v strict.Value, read func(strict.Value) (string, bool)) []string {
	list, ok := v.List()
	switch {
	case ok && len(list) == 0:
		v.Fail(v.Name()+" is empty", "leave it out, that means the same")
		return nil
	case len(list) > maxPatterns:
		tooMany(v, len(list), maxPatterns)
		return nil
	}
	entries := make([]string, 0, len(list))
	for _, e := range list {
		s, ok := read(e)
		if ok && slices.Contains(entries, s) {
			e.Failf("%s: %q is given twice", v.Name(), s)
		} else if ok {
			entries = append(entries, s)
		}
	}
	return entries
}

// checkSharePatterns refuses patterns that mean no share: they are misspelt.
func checkSharePatterns(queues []queueSpec, all []*share) {
	var paths []string
	each(all, func(s *share) { paths = append(paths, s.path) })
	for _, q := range queues {
		for _, key := range []string{"allow_shares", "deny_shares"} {
			if !q.seen.Has(key) {
				continue
			}
			list, _ := q.seen.At(key).List()
			for _, e := range list {
				pattern, ok := e.Text()
				if !ok || e.Failed() || slices.ContainsFunc(paths, func(p string) bool { return shares.PatternMeans(pattern, p) }) {
					continue
				}
				e.Fail(fmt.Sprintf("%s: %q means no share", key, pattern), strict.DidYouMean(pattern, paths))
			}
		}
	}
}
