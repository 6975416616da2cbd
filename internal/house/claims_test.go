package house_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/dispatcher/resource"
	"github.com/divvyhq/divvy/generator/spec"
	"github.com/divvyhq/divvy/internal/site"
	"github.com/divvyhq/divvy/shares"
)

// The counts in docs/claims.md are those of the package that makes claims.
func TestClaimsFigures(t *testing.T) {
	rows := tableRows(read(t, "docs/claims.md"), "| where `sharing` stands |")
	if len(rows) != 9 {
		t.Fatalf("%d rows with the head", len(rows))
	}
	for _, row := range rows[1:] {
		scope := resource.Scope(strings.Trim(row[1], "`"))
		entry := []resource.Sharing{{Template: "x", Scope: scope}}
		l := resource.Layout{Replicas: 2, Templates: []shares.ClaimTemplate{{Name: "x", Node: true}},
			Groups: []resource.Group{{Name: "g", Replicas: 2, Members: []resource.Role{{Name: "m", Count: 3}}}}, Roles: []resource.Role{{Name: "r", Count: 2}}}
		switch row[0] {
		case "task":
			l.Sharing = entry
		case "group":
			l.Groups[0].Sharing = entry
		case "role of a group":
			l.Groups[0].Members[0].Sharing = entry
		case "role of its own":
			l.Roles[0].Sharing = entry
		default:
			t.Fatalf("level %q", row[0])
		}
		if err := l.Validate(); err != nil {
			t.Fatal(err)
		}
		if got := strconv.Itoa(len(resource.Expand(l).Claims)); got != row[3] {
			t.Errorf("%s, %s: %s claims, the page says %s", row[0], scope, got, row[3])
		}
	}
}

// The page names every key of a template and every gate of claims; the guide shows the example as it is.
func TestClaimsPage(t *testing.T) {
	page := read(t, "docs/claims.md")
	var names []string
	for _, row := range tableRows(page, "| in a template |")[1:] {
		names = append(names, strings.Trim(row[0], "`"))
	}
	if want := []string{"node", "devices", "resources", "max_sharers", "linger", "gang"}; !slices.Equal(names, want) {
		t.Errorf("keys of a template %v, want %v", names, want)
	}
	task := read(t, "docs/examples/shadow/task.yml")
	if _, body, _ := strings.Cut(task, "\n"); !strings.Contains(read(t, "docs/howto/share-a-gpu.md"), "```yaml\n"+body+"```") {
		t.Error("the guide shows another task than docs/examples/shadow/task.yml")
	}
	gates := regexp.MustCompile(`"((?:claim|gang)_[a-z_]+)"\s+//`).FindAllStringSubmatch(read(t, "dispatcher/explain/gate.go"), -1)
	if len(gates) != 8 {
		t.Errorf("%d gates of claims", len(gates))
	}
	for _, g := range gates {
		if !strings.Contains(page, "| `"+g[1]+"` |") {
			t.Errorf("the page does not name the gate %s", g[1])
		}
	}
}

// The files of docs/examples are valid.
func TestExampleFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "docs/examples/*/*.yml"))
	if err != nil || len(files) != 10 {
		t.Fatalf("%v %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(file) == "site.yml" {
			_, err = site.Parse(file, text)
		} else {
			_, err = spec.ParseSpecs(file, text)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

// claim is what the tests of the page look at.
type claim struct {
	ID      int64
	State   string
	Node    string
	Devices []string
	Sharers int
}

func (sh *shell) claims(state string) (list []claim) {
	sh.t.Helper()
	var page struct{ Items []claim }
	if err := json.Unmarshal([]byte(sh.run("./divvy resource-claim list -o json --state "+state)), &page); err != nil {
		sh.t.Fatal(err)
	}
	return page.Items
}

func (sh *shell) serve(command string) (stop func()) {
	stop = sh.background(command)
	sh.eventually("divvy status", func() bool { _, err := sh.try("./divvy status"); return err == nil })
	return stop
}

func claimBlocks(t *testing.T) (blocks []string) {
	t.Helper()
	if testing.Short() {
		t.Skip("short: starts a daemon and pilots")
	}
	for _, m := range shellBlock.FindAllStringSubmatch(read(t, "docs/howto/share-a-gpu.md"), -1) {
		blocks = append(blocks, m[1])
	}
	if len(blocks) != 8 {
		t.Fatalf("%d blocks of commands; these tests know daemon, pilot, task, list; daemon, task and pilot, explain, pilot", len(blocks))
	}
	return blocks
}

// The first example of docs/howto/share-a-gpu.md, as it stands there: a primary and its shadow use one GPU.
func TestClaimsOfAShadow(t *testing.T) {
	t.Parallel()
	blocks := claimBlocks(t)
	sh := newShell(t)
	sh.run("go build -o divvy ./cmd/divvy")
	stopServe := sh.serve(blocks[0])
	stopPilot := sh.background(blocks[1])
	sh.run(blocks[2])
	sh.eventually("two GPUs with two jobs each", func() bool {
		list := sh.claims("bound")
		return len(list) == 2 && list[0].Sharers == 2 && list[1].Sharers == 2 && list[0].Devices[0] != list[1].Devices[0]
	})
	if out := sh.run(blocks[3]); !strings.Contains(out, "2 of 2") || !strings.Contains(out, "0/primary/0") || !strings.Contains(out, "0/shadow/0") {
		t.Errorf("resource-claim list and show:\n%s", out)
	}
	sh.eventually("the task is done", func() bool { return sh.state("task", 1) == "done" })
	said := map[string][]string{}
	for job := range 4 {
		name, where, _ := strings.Cut(strings.TrimSpace(sh.run(fmt.Sprintf("./divvy job logs %d", job+1))), " on ")
		replica, _, _ := strings.Cut(name, "/")
		said[replica] = append(said[replica], where)
	}
	for replica, where := range said {
		if len(where) != 2 || where[0] != where[1] || !strings.HasPrefix(where[0], "gpu-1: gpu:") || said["0"][0] == said["1"][0] {
			t.Errorf("replica %s ran at %v", replica, where)
		}
	}
	sh.eventually("both claims are released", func() bool { return len(sh.claims("released")) == 2 })
	stopPilot()
	stopServe()
}

// The second example: those who train together start together, where all of them fit.
func TestClaimsOfATraining(t *testing.T) {
	t.Parallel()
	blocks := claimBlocks(t)
	sh := newShell(t)
	sh.run("go build -o divvy ./cmd/divvy")
	stopServe := sh.serve(blocks[4])
	submit, pilot, _ := strings.Cut(blocks[5], "\n")
	sh.run(submit)
	stopSmall := sh.background(pilot)
	sh.eventually("the small node does not do", func() bool {
		out, err := sh.try(blocks[6])
		return err == nil && strings.Contains(out, "gang_waiting")
	})
	stopBig := sh.background(blocks[7])
	sh.eventually("four run together", func() bool {
		list := sh.claims("bound")
		if len(list) > 0 && list[0].Sharers != 4 && list[0].Sharers != 0 && sh.state("task", 1) == "running" {
			return false
		}
		return len(list) == 1 && list[0].Node == "big" && list[0].Sharers == 4
	})
	if out := sh.run("./divvy resource show fabric"); !strings.Contains(out, "held by claims") || !strings.Contains(out, "0/train/") {
		t.Errorf("resource show fabric:\n%s", out)
	}
	sh.eventually("the task is done", func() bool { return sh.state("task", 1) == "done" })
	var starts [2][]time.Time
	for job := range 8 {
		var j struct {
			Inputs   []string
			Attempts []struct {
				ClaimedAt time.Time `json:"claimed_at"`
				Node      string
			}
		}
		if err := json.Unmarshal([]byte(sh.run(fmt.Sprintf("./divvy job show -o json %d", job+1))), &j); err != nil || len(j.Attempts) != 1 || j.Attempts[0].Node != "big" {
			t.Fatalf("%+v %v", j, err)
		}
		replica, _ := strconv.Atoi(strings.Split(j.Inputs[0], "/")[2])
		starts[replica] = append(starts[replica], j.Attempts[0].ClaimedAt)
	}
	for replica, at := range starts {
		if len(at) != 4 || !at[0].Equal(at[1]) || !at[0].Equal(at[2]) || !at[0].Equal(at[3]) {
			t.Errorf("replica %d started at %v, want one moment", replica, at)
		}
	}
	stopBig()
	stopSmall()
	stopServe()
}
