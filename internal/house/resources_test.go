package house_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

// The allowances in docs/resources.md are those of the package that grants by them.
func TestResourcesFigures(t *testing.T) {
	rows := tableRows(read(t, "docs/resources.md"), "| units | who wants how much |")
	if len(rows) != 7 {
		t.Fatalf("%d rows with the head", len(rows))
	}
	for _, row := range rows[1:] {
		spec := shares.DefaultResource()
		spec.Name = "maya"
		spec.Capacity, _ = strconv.ParseInt(row[0], 10, 64)
		pool := resource.NewPool(spec)
		var ids []string
		for _, want := range strings.Split(row[1], ",") {
			id, n, _ := strings.Cut(strings.TrimSpace(want), " ")
			units, err := strconv.ParseInt(n, 10, 64)
			if err != nil {
				t.Fatalf("%q: %v", want, err)
			}
			pool.Want(id, units)
			ids = append(ids, id)
		}
		given := map[string]int64{}
		for _, a := range pool.Allowances() {
			given[a.ID] = a.Allowance
		}
		var got []string
		for _, id := range ids {
			got = append(got, strconv.FormatInt(given[id], 10))
		}
		if strings.Join(got, " ") != row[2] {
			t.Errorf("%s units, %s: allowances %s, the page says %s", row[0], row[1], strings.Join(got, " "), row[2])
		}
	}
}

// The site file of the page is valid, and the page names every key that a resource may have.
func TestResourcesPage(t *testing.T) {
	page := read(t, "docs/resources.md")
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(examples) != 1 {
		t.Fatalf("%d examples, want one of a site file", len(examples))
	}
	s, err := site.Parse("site.yml", []byte(examples[0][1]))
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Resources) != 4 || len(s.Resources[1].Split.Tree) != 2 {
		t.Errorf("the example has %+v", s.Resources)
	}
	// The tree of the example: film gets three quarters of 20, of which bob gets two thirds.
	pool := resource.NewPool(s.Resources[1])
	given := map[string]int64{}
	for _, id := range []string{"alice", "bob", "carol", "dave", "emil"} {
		pool.Want(id, 100)
	}
	for _, a := range pool.Allowances() {
		given[a.ID] = a.Allowance
	}
	if want := map[string]int64{"alice": 5, "bob": 10, "carol": 2, "dave": 2, "emil": 1}; !maps.Equal(given, want) {
		t.Errorf("by the tree of the example %v, want %v", given, want)
	}
	for _, key := range []string{"name", "capacity", "per", "split.by", "split.weights", "split.tree", "keyed", "max_bypass", "max_hold", "settle", "external_expires", "exempt"} {
		if !strings.Contains(page, "`"+key+"`") {
			t.Errorf("the page does not name %s", key)
		}
	}
	if n := reflect.TypeFor[shares.Resource]().NumField(); n != 12 { // Of is of no file
		t.Errorf("a resource has %d fields: name the new ones in the page and here", n)
	}
}

// The commands of docs/howto/add-a-licence.md, as they stand there.
func TestResources(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: starts a daemon and a pilot")
	}
	var blocks []string
	for _, m := range shellBlock.FindAllStringSubmatch(read(t, "docs/howto/add-a-licence.md"), -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) != 6 {
		t.Fatalf("%d blocks of commands; this test knows daemon, alice, pilot, bob, show, set", len(blocks))
	}
	sh := newShell(t)
	sh.run("go build -o divvy ./cmd/divvy")
	stopServe := sh.background(blocks[0])
	sh.eventually("divvy status", func() bool { _, err := sh.try("./divvy status"); return err == nil })
	sh.run(blocks[1])
	stopPilot := sh.background(blocks[2])
	sh.eventually("alice with all four", func() bool { return sh.holders("maya") == "4: alice 4" })
	sh.run(blocks[3])
	sh.eventually("two each", func() bool { return sh.holders("maya") == "4: alice 2, bob 2" })
	if out := sh.run(blocks[4]); !strings.Contains(out, "ALLOWANCE") || !strings.Contains(out, "bob") {
		t.Errorf("resource show:\n%s", out)
	}
	if out := sh.run(blocks[5]); !strings.Contains(out, "resource maya has 6 units; the site file says 4") {
		t.Errorf("resource set:\n%s", out)
	}
	sh.eventually("three each", func() bool { return sh.holders("maya") == "6: alice 3, bob 3" })
	if out := sh.run("./divvy resource watch maya --once --exec 'echo 10 8'"); !strings.Contains(out, "maya: 8 of 10 used") {
		t.Errorf("resource watch:\n%s", out)
	}
	sh.run("./divvy task kill 1 2")
	stopPilot()
	stopServe()
}

// holders is the capacity of a resource and who holds how much of it, once nobody holds more than his allowance.
func (sh *shell) holders(name string) string {
	out, err := sh.try("./divvy resource show -o json " + name)
	var page struct {
		Items []struct {
			Capacity int64
			IDs      []struct {
				ID   string
				Held int64
			}
		}
	}
	if err != nil || json.Unmarshal([]byte(out), &page) != nil || len(page.Items) != 1 {
		return out
	}
	var parts []string
	for _, id := range page.Items[0].IDs {
		if id.Held > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", id.ID, id.Held))
		}
	}
	return fmt.Sprintf("%d: %s", page.Items[0].Capacity, strings.Join(parts, ", "))
}
