package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/wire"
)

// desk is where a stranger sits: a folder, an environment, and a daemon to talk to.
type desk struct {
	t      *testing.T
	dir    string
	env    []string
	server string
}

// newDesk makes a folder with one for temporary files in it. The private PostgreSQL must be able to enter it, and
// the path of its socket must be short.
func newDesk(t *testing.T) *desk {
	t.Helper()
	dir, err := os.MkdirTemp("", "divvy-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	tmp := filepath.Join(dir, "tmp")
	for _, err := range []error{os.Chmod(dir, 0o755), os.Mkdir(tmp, 0o777), os.Chmod(tmp, 0o1777)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return &desk{t: t, dir: dir, env: environment("TMPDIR=" + tmp)}
}

// divvy runs a command to its end and returns what it printed.
func (d *desk) divvy(want int, args ...string) (stdout, stderr string) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary(d.t), args...)
	cmd.Env = append(d.env, "DIVVY_SERVER="+d.server)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != want {
		d.t.Fatalf("divvy %s: exit code %d, want %d (%v)\n%s%s", strings.Join(args, " "), code, want, err, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

// prints runs a command and wants all these in what it prints.
func (d *desk) prints(args []string, want ...string) string {
	d.t.Helper()
	out, _ := d.divvy(0, args...)
	for _, w := range want {
		if !strings.Contains(out, w) {
			d.t.Errorf("divvy %s does not show %q:\n%s", strings.Join(args, " "), w, out)
		}
	}
	return out
}

func words(s string) []string { return strings.Fields(s) }

// A site and its first task, as a stranger brings them up, with the files that are shipped.
func TestFirstContact(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	state := filepath.Join(d.dir, "state")
	daemon := start(t, d.env, "serve", "--state-dir", state, "--listen", "127.0.0.1:0")
	d.server = daemon.says(t, `msg=serving url=(\S+)`)

	const tasks = "../../deploy/task.example.yml"
	if _, stderr := d.divvy(1, "task", "submit", "-f", tasks); !strings.Contains(stderr, "divvy apply") {
		t.Errorf("a submission before any site does not say what to do:\n%s", stderr)
	}
	d.prints(words("apply -f ../../deploy/site.example.yml --dry-run"), "MC")
	d.prints(words("apply -f ../../deploy/site.example.yml"), "1")
	d.prints([]string{"tags", "test", "-f", tasks}, "Production/MC")
	id := d.submit(tasks)
	worker := start(t, d.env, "pilot", "--server", d.server, "--queue", "CERN", "--slots", "8",
		"--work-dir", filepath.Join(d.dir, "work")) // where the logs of its last jobs stay
	task := d.awaitTask(id)
	if task.State != "done" || task.Jobs.Finished != task.Jobs.Total || task.Jobs.Total != 20 || task.Share != "Production/MC" {
		t.Errorf("the task is %s in %s with %+v", task.State, task.Share, task.Jobs)
	}
	d.prints([]string{"task", "show", fmt.Sprint(id)}, "done", "Production/MC")
	d.prints(words("task list"), "hello", "done")
	d.prints(words("shares show"), "Production", "MC", "Analysis", "TARGET", "HELD", "READY", "DEFICIT")
	d.prints(words("queue list"), "CERN", "BNL", "TRIUMF", "online")
	d.prints(words("shares history"), "1")
	d.prints(words("status"), "4 online", "0 of 1000 units")
	d.logs(id)

	worker.stops(t)
	daemon.stops(t)
	d.leavesNothing(state)
}

func (d *desk) submit(file string) int64 {
	d.t.Helper()
	var page wire.Page[wire.Task]
	d.json(&page, "task", "submit", "-f", file)
	if len(page.Items) != 1 || page.Items[0].ID == 0 {
		d.t.Fatalf("submitted: %+v", page)
	}
	return page.Items[0].ID
}

// json runs a command with -o json and decodes what it prints.
func (d *desk) json(into any, args ...string) {
	d.t.Helper()
	out, _ := d.divvy(0, append(args, "-o", "json")...)
	if err := json.Unmarshal([]byte(out), into); err != nil {
		d.t.Fatalf("divvy %s -o json: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func (d *desk) awaitTask(id int64) (task wire.Task) {
	d.t.Helper()
	eventually(d.t, time.Minute, "the task is over", func() bool {
		d.json(&task, "task", "show", fmt.Sprint(id))
		return task.EndedAt != nil
	})
	return task
}

// logs looks at what the jobs of the task printed.
func (d *desk) logs(task int64) {
	d.t.Helper()
	var page wire.Page[wire.JobRow]
	d.json(&page, "job", "list", "--task", fmt.Sprint(task))
	if len(page.Items) != 20 {
		d.t.Fatalf("%d jobs are listed", len(page.Items))
	}
	for _, j := range []wire.JobRow{page.Items[0], page.Items[19]} {
		d.prints([]string{"job", "logs", fmt.Sprint(j.ID)}, fmt.Sprintf("piece %d\n", j.Index))
		d.prints([]string{"job", "show", fmt.Sprint(j.ID)}, "finished", "CERN")
	}
}

// leavesNothing looks for processes, sockets and temporary files of what was started here.
func (d *desk) leavesNothing(state string) {
	d.t.Helper()
	for _, cmdline := range processes(d.dir, state) {
		d.t.Errorf("still runs: %s", cmdline)
	}
	err := filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.Type()&fs.ModeSocket != 0, e.Name() == "postmaster.pid":
			d.t.Errorf("left: %s", path)
		case strings.HasPrefix(path, filepath.Join(d.dir, "tmp")+"/"):
			d.t.Errorf("left in the temporary folder: %s", path)
		}
		return nil
	})
	if err != nil {
		d.t.Error(err)
	}
}

// processes lists those that name one of the folders in their command line or environment.
func processes(folders ...string) (found []string) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range all {
		cmdline, _ := os.ReadFile(p + "/cmdline")
		environ, _ := os.ReadFile(p + "/environ")
		for _, dir := range folders {
			if bytes.Contains(cmdline, []byte(dir)) || bytes.Contains(environ, []byte(dir)) {
				found = append(found, filepath.Base(p)+" "+string(bytes.ReplaceAll(cmdline, []byte{0}, []byte{' '})))
				break
			}
		}
	}
	return found
}
