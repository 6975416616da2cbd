//go:build browser

package serve

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/cmd/divvy/servetest"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/browser"
)

// A job is killed by two clicks, and the page sees it end.
func TestBrowserKillsAJob(t *testing.T) {
	d, cl, task := openDaemon(t, wire.TaskSpec{Name: "long", User: "ann", Label: "user", Count: 8, Command: []string{"sleep", "600"}})
	t.Cleanup(func() { // pilots leave when their jobs have ended
		if _, err := cl.Tasks().Kill(context.Background(), task.ID); err != nil {
			t.Error(err)
		}
	})
	tab := browser.Open(t, browser.Window{})
	tab.Go(fmt.Sprintf("%s/tasks/%d?state=leased", d.URL(), task.ID))
	tab.Click(`#jobs ~ .wide tbody a[href^="/jobs/"]`)
	tab.Sees("#summary")
	path := browser.Eval[string](tab, "location.pathname")
	tab.Click(`form[action$="/kill"] button`)
	tab.Sees(`input[name=sure]`)
	if text := tab.Text("main"); !strings.Contains(text, "is told to end it") {
		t.Errorf("the question does not say what happens: %s", text)
	}
	tab.Click(`form:has(input[name=sure]) button.danger`)
	tab.At(path)
	if said := tab.Text(".said"); !strings.Contains(said, "is told to end job") {
		t.Errorf("said: %s", said)
	}
	tab.Until(`document.getElementById("ending")?.textContent.includes("still runs") || document.querySelector("#live .state").textContent === "cancelled"`)
	var id int64
	if _, err := fmt.Sscanf(path, "/jobs/%d", &id); err != nil {
		t.Fatal(err)
	}
	servetest.Eventually(t, 90*time.Second, func() (bool, string) {
		job, err := cl.Jobs().Get(t.Context(), id)
		return err == nil && job.State == "cancelled", fmt.Sprint(job.State, err)
	})
	tab.Until(`document.querySelector("#live .state").textContent === "cancelled"`) // by itself
}

// The page of a job shows what it writes, by itself.
func TestBrowserShowsOutput(t *testing.T) {
	turn := filepath.Join(t.TempDir(), "turn")
	script := fmt.Sprintf("echo first; while [ ! -e %s ]; do sleep 0.1; done; echo second; sleep 600", turn)
	d, cl, task := openDaemon(t, wire.TaskSpec{Name: "talks", User: "ann", Label: "user", Count: 1, Command: []string{"sh", "-c", script}})
	t.Cleanup(func() {
		if _, err := cl.Tasks().Kill(context.Background(), task.ID); err != nil {
			t.Error(err)
		}
	})
	tab := browser.Open(t, browser.Window{})
	tab.Go(fmt.Sprintf("%s/tasks/%d?state=leased", d.URL(), task.ID))
	tab.Click(`#jobs ~ .wide tbody a[href^="/jobs/"]`)
	tab.Until(`document.querySelector("pre.log")?.textContent === "first\n"`)
	if err := os.WriteFile(turn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tab.Until(`document.querySelector("pre.log")?.textContent === "first\nsecond\n"`)
}

// A task is paused and goes on, by buttons; the list of tasks says so by itself.
func TestBrowserPausesATask(t *testing.T) {
	d, cl, task := openDaemon(t)
	list := browser.Open(t, browser.Window{})
	list.Go(d.URL() + "/tasks")
	list.Sees("td .state")
	tab := browser.Open(t, browser.Window{Width: 390, Height: 844})
	path := fmt.Sprintf("/tasks/%d", task.ID)
	state := func() string {
		got, err := cl.Tasks().Get(t.Context(), task.ID)
		if err != nil {
			t.Fatal(err)
		}
		return got.State
	}
	tab.Go(d.URL() + path)
	for _, step := range [][2]string{{"pause", "paused"}, {"resume", "running"}} {
		tab.Until(fmt.Sprintf(`document.querySelector("#live .state")?.textContent !== %q`, step[1]))
		tab.Click(fmt.Sprintf("button[value=%s]", step[0]))
		tab.Until(fmt.Sprintf(`document.querySelector(".said")?.textContent.includes("and is %s")`, step[1]))
		if got := state(); got != step[1] {
			t.Errorf("after %s: %s", step[0], got)
		}
		list.Until(fmt.Sprintf(`document.querySelector("td .state")?.textContent === %q`, step[1]))
	}
	tab.FitsTheWidth()
}

// The page says of a job that waits what the API says, to the last figure.
func TestBrowserExplains(t *testing.T) {
	d, cl := startDaemon(t, nil)
	task, err := cl.Tasks().Submit(t.Context(), servetest.Hello(40), "")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // what runs does not end, so that figures stand still
		if _, err := cl.Pull(t.Context(), wire.PullRequest{Queue: "LOCAL", Pilot: "p", WaitS: 20}); err != nil {
			t.Fatal(err)
		}
	}
	var job int64
	servetest.Eventually(t, 20*time.Second, func() (bool, string) { // lists are of tables, which follow the log
		jobs, err := cl.Jobs().List(t.Context(), client.JobFilter{Task: task.ID, State: "ready"})
		if err != nil || len(jobs.Items) != 38 {
			return false, fmt.Sprint(jobs, err)
		}
		job = jobs.Items[len(jobs.Items)-1].ID
		return true, ""
	})
	tab := browser.Open(t, browser.Window{})
	tab.Go(fmt.Sprintf("%s/jobs/%d", d.URL(), job))
	servetest.Eventually(t, 90*time.Second, func() (bool, string) {
		e, err := cl.Jobs().Explain(t.Context(), job)
		if err != nil || e.Position == nil || len(e.Pools) == 0 || len(e.Queues) == 0 {
			return false, fmt.Sprint(e, err)
		}
		text := plain(tab.Text("main"))
		for _, want := range figuresOf(e) {
			if !strings.Contains(text, want) {
				return false, fmt.Sprintf("the page does not say %q:\n%s", want, text)
			}
		}
		return true, ""
	})
}

// figuresOf are the figures of an explanation as a page has them.
func figuresOf(e wire.Explanation) []string {
	all := []string{plain(e.Summary), fmt.Sprintf("%d ready jobs of its share come before it, of %d", e.Position.Before, e.Position.Ready), plain(e.ETA.How)}
	for _, p := range e.Pools {
		for _, l := range p.Levels {
			row := l.Share
			for _, f := range []float64{l.Weight} {
				row += trimmed(f)
			}
			row += fmt.Sprintf("%.4f", l.Product)
			for _, f := range []float64{l.Target, l.Held, l.Deficit} {
				row += trimmed(f)
			}
			all = append(all, row+fmt.Sprintf("%d%d of %d", l.Ready, l.Rank, l.Of))
		}
	}
	for _, q := range e.Queues {
		all = append(all, fmt.Sprintf("%s%s%d%s", q.Queue, q.Gate, q.Pilots, plain(q.Reason)))
	}
	return all
}

// trimmed prints a figure to the hundredth, without zeros at the end.
func trimmed(f float64) string {
	s := strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.2f", f), "0"), ".")
	if s == "-0" {
		return "0"
	}
	return strings.Replace(s, "-", "−", 1)
}

// plain is text without blanks between lines, and figures without those of thousands.
func plain(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, "\u202f", "")), " ")
}

// Decisions come by themselves; a filter leaves those of one share.
func TestBrowserDecisions(t *testing.T) {
	d, _, task := openDaemon(t)
	tab := browser.Open(t, browser.Window{Expect: []string{"422"}})
	tab.Go(d.URL() + "/decisions")
	tab.Sees("tr[data-n]")
	browser.Eval[bool](tab, "window.marked = true")
	first := browser.Eval[int](tab, `Number(document.querySelector("tr[data-n]").dataset.n)`)
	tab.Until(fmt.Sprintf(`Number(document.querySelector("tr[data-n]").dataset.n) > %d`, first))
	if !browser.Eval[bool](tab, "window.marked === true") {
		t.Error("the page was loaded again")
	}
	tab.Fill(`input[name=task]`, fmt.Sprint(task.ID))
	tab.Click(`form.filter button`)
	tab.Until(fmt.Sprintf(`location.search.includes("task=%d")`, task.ID))
	tab.Sees("tr[data-n]")
	if others := browser.Eval[int](tab, fmt.Sprintf(`[...document.querySelectorAll("tr[data-n]")].filter(r => !r.querySelector('a[href="/tasks/%d"]')).length`, task.ID)); others > 0 {
		t.Errorf("%d decisions of other tasks", others)
	}
	tab.Go(d.URL() + "/decisions?share=Test")
	tab.Until(`document.querySelector("#live").textContent.includes("Nothing of the kind")`)
	tab.Go(d.URL() + "/decisions?share=Tset")
	if text := tab.Text("[role=alert]"); !strings.Contains(text, `did you mean "Test"?`) {
		t.Errorf("an unknown share: %s", text)
	}
}

// Changes come by themselves, with who made them, and lead to what was changed.
func TestBrowserChanges(t *testing.T) {
	d, cl := startDaemon(t, nil)
	tab := browser.Open(t, browser.Window{})
	tab.Go(d.URL() + "/changes?what=task")
	tab.Until(`document.querySelector("#live").textContent.includes("No change is like that")`)
	browser.Eval[bool](tab, "window.marked = true")
	task, err := cl.Tasks().Submit(t.Context(), servetest.Hello(4), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cl.Tasks().Pause(t.Context(), task.ID); err != nil {
		t.Fatal(err)
	}
	tab.Until(`[...document.querySelectorAll("tbody tr")].map(r => r.cells[2].textContent).join() === "task.pause,task.submit"`)
	if !browser.Eval[bool](tab, "window.marked === true") {
		t.Error("the page was loaded again")
	}
	if row := plain(tab.Text("tbody tr")); !strings.Contains(row, "anybody admin") || !strings.HasSuffix(row, "paused") {
		t.Errorf("the newest is %q", row)
	}
	tab.Click("tbody th a")
	tab.At(fmt.Sprintf("/tasks/%d", task.ID))
	tab.Click(`a[href^="/changes"]:not(nav a)`)
	tab.At(fmt.Sprintf("/changes?what=task&object=%d", task.ID))
	tab.Until(`document.querySelectorAll("tbody tr").length === 2`)
}

// Queues keep up with who holds them.
func TestBrowserQueues(t *testing.T) {
	d, cl, task := openDaemon(t)
	tab := browser.Open(t, browser.Window{Dark: true})
	tab.Go(d.URL() + "/queues")
	held := `[...document.querySelectorAll("tbody tr")].find(r => r.textContent.includes("LOCAL"))`
	tab.Until(held + `.querySelector(".says").textContent.includes("` + task.Share + `")`)
	browser.Eval[bool](tab, "window.marked = true")
	if _, err := cl.Tasks().Kill(t.Context(), task.ID); err != nil {
		t.Fatal(err)
	}
	tab.Until(held + `.querySelector(".says").textContent === "nothing held"`)
	tab.Until(`[...` + held + `.querySelectorAll(".stack path")].every(p => p.getAttribute("d") === "")`)
	if !browser.Eval[bool](tab, "window.marked === true") {
		t.Error("the page was loaded again")
	}
}

// finishedJob waits for a job of a task that has finished.
func finishedJob(t *testing.T, cl *client.Client, task int64) (job int64) {
	t.Helper()
	servetest.Eventually(t, 90*time.Second, func() (bool, string) {
		jobs, err := cl.Jobs().List(t.Context(), client.JobFilter{Task: task, State: "finished"})
		if err != nil || len(jobs.Items) == 0 {
			return false, fmt.Sprint("no job has finished: ", err)
		}
		job = jobs.Items[0].ID
		return true, ""
	})
	return job
}

// Every view of work is whole without scripts and fits a telephone, and its JSON is there.
func TestBrowserWorkWithoutScripts(t *testing.T) {
	d, cl, task := openDaemon(t)
	job := finishedJob(t, cl, task.ID)
	tab := browser.Open(t, browser.Window{NoScript: true, Width: 390, Height: 844})
	for _, path := range []string{"/queues", "/queues/LOCAL", "/tasks?over=too", fmt.Sprintf("/tasks/%d", task.ID), fmt.Sprintf("/jobs/%d", job), "/resources", "/claims", "/decisions", "/changes?what=task"} {
		tab.Go(d.URL() + path)
		if tab.Text("h1") == "" || !strings.Contains(tab.Text(".age"), "As of") {
			t.Errorf("%s: no heading or no age", path)
		}
		tab.FitsTheWidth()
		join := "?"
		if strings.Contains(path, "?") {
			join = "&"
		}
		if at := jsonOf(t, d.URL()+path+join+"format=json")["at"]; at == nil {
			t.Errorf("%s: the JSON does not say of when it is", path)
		}
	}
	tab.Go(fmt.Sprintf("%s/jobs/%d", d.URL(), job))
	if log := tab.Text("pre.log"); !strings.Contains(log, "piece") {
		t.Errorf("the log: %q", log)
	}
	tab.Go(fmt.Sprintf("%s/tasks/%d", d.URL(), task.ID))
	tab.Click("button[value=kill]")
	tab.Click("form:has(input[name=sure]) button.danger")
	tab.Until(`document.querySelector(".said")?.textContent.includes("Kill: task")`)
	servetest.Eventually(t, 90*time.Second, func() (bool, string) {
		got, err := cl.Tasks().Get(t.Context(), task.ID)
		return err == nil && got.State == "aborted", fmt.Sprint(got.State, err)
	})
}

func jsonOf(t *testing.T, url string) (got map[string]any) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || json.Unmarshal(body, &got) != nil {
		t.Fatalf("%s: %v %.200s", url, err, body)
	}
	return got
}
