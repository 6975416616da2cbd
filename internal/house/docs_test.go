package house_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	noSlug  = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	fenced  = regexp.MustCompile("(?ms)^```.*?^```")
)

// Links between the pages lead somewhere, to their headings too.
func TestLinks(t *testing.T) {
	walk(t, ".md", func(page string) {
		if strings.Contains(page, "testdata/") {
			return // a part of a page elsewhere
		}
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(read(t, page), ""), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			to := page
			if target != "" {
				to = filepath.ToSlash(filepath.Join(filepath.Dir(page), target))
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s: dead link %s", page, m[1])
			} else if anchor != "" && !anchors(read(t, to))[anchor] {
				t.Errorf("%s: %s has no heading %q", page, to, anchor)
			}
		}
	})
}

// anchors are those that GitHub gives to the headings of a page.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		slug := noSlug.ReplaceAllString(strings.ToLower(m[1]), "")
		all[strings.ReplaceAll(slug, " ", "-")] = true
	}
	return all
}

// The figures of docs/concepts.md are the solver's, for the example site. Shares that a row does not name in
// words want more than there is.
func TestConceptsFigures(t *testing.T) {
	s, err := site.Parse("site.example.yml", []byte(read(t, "deploy/site.example.yml")))
	if err != nil {
		t.Fatal(err)
	}
	const capacity, plenty = 1000 * 1000, 5000 * 1000
	rows := tableRows(read(t, "docs/concepts.md"), "| who wants how much |")
	if len(rows) != 5 {
		t.Fatalf("%d rows with the head", len(rows))
	}
	names, rows := rows[0][1:], rows[1:]
	for _, row := range rows {
		pool := shares.NewPool(s.Tree, "default")
		leaf := map[string]int{}
		for _, i := range s.Tree.Leaves() {
			leaf[s.Tree.Nodes[i].Name] = i
			pool.SetWant(i, plenty)
		}
		for _, want := range strings.Split(row[0], ",") {
			name, amount, _ := strings.Cut(strings.TrimSpace(want), " ")
			i, ok := leaf[name]
			if !ok {
				continue // "all more than there is"
			}
			n, err := strconv.Atoi(strings.Replace(amount, "nothing", "0", 1))
			if err != nil {
				t.Fatalf("%q: %v", want, err)
			}
			pool.SetWant(i, shares.Units(n*1000))
		}
		slots := pool.Slots(capacity)
		for k, name := range names {
			if got := strconv.FormatInt(slots[leaf[name]], 10); got != row[k+1] {
				t.Errorf("%s: %s gets %s, the page says %s", row[0], name, got, row[k+1])
			}
		}
	}
}

// tableRows are the cells of the table whose head begins so, without the line under the head.
func tableRows(text, head string) (rows [][]string) {
	_, after, _ := strings.Cut(text, head)
	for i, line := range strings.Split(head+after, "\n") {
		if !strings.HasPrefix(line, "|") {
			break
		}
		if i == 1 {
			continue
		}
		var cells []string
		for _, c := range strings.Split(strings.Trim(line, "| "), "|") {
			cells = append(cells, strings.TrimSpace(c))
		}
		rows = append(rows, cells)
	}
	return rows
}
