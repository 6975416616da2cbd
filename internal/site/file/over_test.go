package file

import (
	"fmt"
	"strings"
	"testing"
)

// repeated is n entries of a list, each with its number.
func repeated(n int, entry string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, strings.ReplaceAll(entry, "%d", "%[1]d")+"\n", i)
	}
	return b.String()
}

// Over each limit of a site file there is a problem with a line, that names the limit; just below it there is none of the kind.
// The table of limits in docs/files.md has the same figures.
func TestOverLimits(t *testing.T) {
	const tree = "shares:\n- {name: A, weight: 1}\n"
	nested := func(n int) string { // each share is two values deep
		return "shares:\n- " + strings.Repeat("{name: a, weight: 1, children: [", n) + "{name: z, weight: 1}" + strings.Repeat("]}", n) + "\n"
	}
	for name, c := range map[string]struct {
		src  func(over int) string // over: 0 or 1
		want string
	}{
		"bytes": {func(over int) string { return tree + "#" + strings.Repeat("x", 1<<20-len(tree)-1+over) }, "the file has 1048577 bytes, more than 1048576"},
		"depth": {func(over int) string { return nested(48 + 10*over) }, "nested more than 100 deep"},
		"aliases": {func(over int) string { // one list in many queues
			return tree + "queues:\n- name: q\n  locations: &d\n" + repeated(1000, "  - B%d") + repeated(60+200*over, "- {name: q%d, locations: *d}")
		}, "more than 200000 values"},
		"siblings": {func(over int) string { return "shares:\n" + repeated(2000+over, "- {name: s%d, weight: 1}") }, "2001 entries, more than 2000"},
		"name":     {func(over int) string { return "shares:\n- {name: " + strings.Repeat("n", 100+over) + ", weight: 1}\n" }, "more than 100 letters"},
		"queues":   {func(over int) string { return tree + "queues:\n" + repeated(5000+over, "- {name: q%d}") }, "5001 entries, more than 5000"},
		"rules": {func(over int) string {
			return tree + "tags:\n" + repeated(1000+over, "- {match: {label: l%d}, share: A}")
		}, "1001 entries, more than 1000"},
		"pattern": {func(over int) string {
			return tree + "tags:\n- {match: {label: " + strings.Repeat("a", 1000+over) + "}, share: A}\n"
		}, "the pattern has 1001 bytes; at most 1000"},
		"program": {func(over int) string {
			return tree + "tags:\n- {match: {label: '" + strings.Repeat("[a-z]{1000}", 19+10*over) + "'}, share: A}\n"
		}, "at most 20000"},
		"programs": {func(over int) string {
			return tree + "tags:\n" + repeated(40+30*over, "- {match: {label: '%d"+strings.Repeat("[a-z]{1000}", 19)+"'}, share: A}")
		}, "at most 1000000 in all rules"},
		"resources": {func(over int) string {
			return tree + "resources:\n" + repeated(1000+over, "- {name: r%d, capacity: 1}")
		}, "1001 entries, more than 1000"},
		"limits": {func(over int) string {
			return tree + "limits:\n" + repeated(1000+over, "- {user: u%d, max_active_tasks: 1}")
		}, "1001 entries, more than 1000"},
		"patterns": {func(over int) string {
			return tree + "queues:\n- name: q\n  deny_shares:\n" + repeated(1000+over, "  - B%d")
		}, "1001 entries, more than 1000"},
		"amount": {func(over int) string {
			return tree + "queues:\n- {name: q, memory_mb: " + fmt.Sprint(1_000_000_000+over) + "}\n"
		}, "1000000000"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse("f", []byte(c.src(0))); err != nil && strings.Contains(err.Error(), c.want) {
				t.Errorf("at the limit: %.300v", err)
			}
			_, err := Parse("f", []byte(c.src(1)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("over the limit: %.500v, want %q", err, c.want)
			}
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("%.200v names no place", err)
			}
		})
	}
}
