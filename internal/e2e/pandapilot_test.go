//go:build pandapilot

package e2e

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/ownca"
	"github.com/divvyhq/divvy/internal/pgtest"
)

// The tokens that the daemons of these tests let in. That of a person looks like a JSON web token: prun reads its name.
const pilotToken, rootToken = "pilot-token-0123456789", "root-token-0123456789"

// serial and sequel are what the first job of prun fills in for ${SN/P} and ${SEQNUMBER} with the offset of %RNDM:41.
const serial, sequel = "000001", "42"

var personToken = strings.Join([]string{base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)),
	base64.RawURLEncoding.EncodeToString([]byte(`{"name":"Alice Doe","preferred_username":"alice","exp":4102444800}`)), "signature"}, ".")

// pilotSite has a queue for each play.
const pilotSite = `
shares: [{name: A}]
queues: [{name: FINISHED}, {name: FAILED}, {name: KILLED}, {name: DIED}, {name: X509}, {name: PRUN}]
on_no_match: A
`

// pandaWorld is a site with three daemons for unmodified clients of PanDA: over http, with leases of twenty seconds, and over TLS.
type pandaWorld struct {
	clients, pilot string // folders: of the clients, of the unpacked pilot
	http, short    *daemon
	tls            string // address
	pem, cas       string // what an x509 pilot has, and a folder of whom it trusts
}

// TestPandaPilot runs PanDA's pilot and prun as their projects publish them. Each play has a queue and a pilot; they wait most of the time,
// and all at once.
//
//nolint:tparallel // no other test runs beside it
func TestPandaPilot(t *testing.T) {
	w := newPandaWorld(t)
	for name, play := range map[string]func(*testing.T, *pandaWorld){"finished": w.finished, "failed": w.failed, "killed": w.killed, "died": w.died, "x509": w.x509, "prun": w.prun} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, w)
		})
	}
}

func newPandaWorld(t *testing.T) *pandaWorld {
	t.Helper()
	w := &pandaWorld{clients: os.Getenv("DIVVY_PANDA_CLIENTS")}
	if w.clients == "" {
		t.Fatal("DIVVY_PANDA_CLIENTS: name the folder with PanDA's pilot, panda-client and run_pilot.sh")
	}
	dir := t.TempDir()
	for _, pattern := range []string{"pilot3-*.tar.gz", "panda-client-*.tar.gz"} {
		found, err := filepath.Glob(filepath.Join(w.clients, pattern))
		if err != nil || len(found) != 1 {
			t.Fatal("one archive must be there:", pattern, found, err)
		}
		if out, err := exec.Command("tar", "-xzf", found[0], "-C", dir).CombinedOutput(); err != nil {
			t.Fatal(string(out), err)
		}
	}
	w.pilot = filepath.Join(dir, "pilot3")
	ca := ownca.New(t, "ca")
	cert, key := ca.Issue(t, time.Now().Add(time.Hour), ownca.Part(ownca.CN, "host"))
	mine, mineKey := ca.Issue(t, time.Now().Add(time.Hour), ownca.Person("Robot: atlas pilots")...)
	w.cas, w.pem = filepath.Join(dir, "cas"), filepath.Join(dir, "pilot.pem")
	writeAll(t, w.pem, mine, mineKey, ca.PEM)
	if err := os.Mkdir(w.cas, 0o700); err != nil {
		t.Fatal(err)
	}
	writeAll(t, filepath.Join(w.cas, "ca.pem"), ca.PEM)
	if out, err := exec.Command("openssl", "rehash", w.cas).CombinedOutput(); err != nil {
		t.Fatal(string(out), err)
	}
	tokens, users := filepath.Join(dir, "tokens"), filepath.Join(dir, "users")
	write(t, tokens, pilotToken+" pilots pilot origin:*.pilot\n"+personToken+" alice submitter user:alice\n"+rootToken+"\n")
	write(t, users, `"/DC=org/DC=grid/CN=Robot: (\w+) pilots" pilot user:$1-robot origin:atlas.pilot`+"\n")
	dsn := pgtest.DSN(t)
	one := []string{"--token-file", tokens, "--tls-ca", ca.PEM}
	w.http = serve(t, dsn, one...)
	w.short = serve(t, dsn, append(one, "--panda-lease", "20s")...)
	tls := serve(t, dsn, append(one, "--panda-listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key, "--tls-client-ca", ca.PEM, "--tls-roles", users)...)
	w.http.client = clientOf(t, w.http.client.URL(), func(c *client.Config) { c.Token = rootToken })
	w.tls = tls.says(t, `msg="PanDA's API" .*url=(\S+)`)
	apply(t, w.http.client, pilotSite)
	return w
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeAll writes files one behind the other.
func writeAll(t *testing.T, file string, of ...string) {
	t.Helper()
	var all []byte
	for _, one := range of {
		b, err := os.ReadFile(one)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	write(t, file, string(all))
}

// realPilot is PanDA's pilot under way, in a PID namespace of its own: it kills what it takes for orphans.
type realPilot struct {
	*exec.Cmd
	dir   string
	out   text
	ended chan struct{}
}

// startPilot starts one for a job of a queue.
func (w *pandaWorld) startPilot(t *testing.T, url, queue string, env ...string) *realPilot {
	t.Helper()
	p := &realPilot{Cmd: exec.Command(filepath.Join(w.clients, "run_pilot.sh"), url, queue), dir: t.TempDir(), ended: make(chan struct{})}
	p.Env = append(environment("PILOT_SRC="+w.pilot, "RUNDIR="+p.dir, "PYTHON=/usr/bin/python3", "TOKEN="+pilotToken, "HEARTBEAT=10", "PILOT_TIMEOUT=400"), env...)
	p.Stdout, p.Stderr, p.SysProcAttr = &p.out, &p.out, &syscall.SysProcAttr{Setpgid: true}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = p.Wait(); close(p.ended) }()
	t.Cleanup(func() {
		p.die()
		if t.Failed() {
			b, err := os.ReadFile(filepath.Join(p.dir, "pilot.out"))
			t.Logf("pilot of %s: %v, all of its log with -artifacts:\n%s\n%s", queue, err, p.out.tail(), b[max(0, len(b)-6000):])
			write(t, filepath.Join(t.ArtifactDir(), "pilot-"+filepath.Base(p.dir)+".out"), string(b))
		}
	})
	return p
}

// die is SIGKILL to the pilot and all that it started: the launcher's namespace ends with its first process.
func (p *realPilot) die() {
	_ = syscall.Kill(-p.Process.Pid, syscall.SIGKILL)
	<-p.ended
}

// leaves waits for the pilot's end.
func (p *realPilot) leaves(t *testing.T) {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(5 * time.Minute):
		t.Fatal("the pilot does not end")
	}
}

// one is the only job of a task, once it is as it should be.
func (w *pandaWorld) one(t *testing.T, task int64, what string, holds func(wire.JobRow) bool) (job wire.JobRow) {
	t.Helper()
	eventually(t, 5*time.Minute, what, func() bool {
		time.Sleep(200 * time.Millisecond)
		jobs, err := w.http.client.Jobs().List(t.Context(), client.JobFilter{Task: task})
		if err != nil || len(jobs.Items) != 1 {
			return false
		}
		job, err = w.http.client.Jobs().Get(t.Context(), jobs.Items[0].ID)
		return err == nil && holds(job)
	})
	return job
}

func last(j wire.JobRow) wire.Attempt {
	if len(j.Attempts) == 0 {
		return wire.Attempt{}
	}
	return j.Attempts[len(j.Attempts)-1]
}

// task submits one job for a queue.
func (w *pandaWorld) task(t *testing.T, queue string, attempts int, code string) int64 {
	t.Helper()
	return submit(t, w.http.client, "A", 1, func(s *wire.TaskSpec) {
		s.Label, s.Queues, s.MaxAttempts, s.Command = "managed", []string{queue}, attempts, []string{"sh", "-c", code}
	}).ID
}

// log checks that a job's log holds a text.
func (w *pandaWorld) log(t *testing.T, job int64, want string) {
	t.Helper()
	got, err := w.http.client.Jobs().Log(t.Context(), job, 0)
	if err != nil || !strings.Contains(got.Tail, want) {
		t.Errorf("the log of job %d does not say %q: %v\n%s", job, want, err, got.Tail)
	}
}

func (w *pandaWorld) finished(t *testing.T, _ *pandaWorld) {
	task := w.task(t, "FINISHED", 1, `echo "hello from $DIVVY_JOB at $DIVVY_QUEUE"; sleep 3`)
	tap := recordWire(t, w.http.client.URL())
	pilot := w.startPilot(t, tap.url, "FINISHED")
	pilot.leaves(t)
	job := w.one(t, task, "the job is over", func(j wire.JobRow) bool { return j.State == "finished" })
	a := last(job)
	if a.Attempt != 1 || a.State != "finished" || a.ExitCode == nil || *a.ExitCode != 0 || a.StartedAt == nil || a.Report["pilotTiming"] == nil {
		t.Errorf("%+v", a)
	}
	w.log(t, job.ID, fmt.Sprintf("hello from %d at FINISHED", job.ID))
	if got := tap.said(); !regexp.MustCompile(`^getJob starting (running )+finished$`).MatchString(got) {
		t.Errorf("on the wire: %s", got)
	}
	w.over(t, task, "done")
}

// over waits for the end of a task.
func (w *pandaWorld) over(t *testing.T, task int64, state string) {
	t.Helper()
	eventually(t, time.Minute, "the task is "+state, func() bool {
		got, err := w.http.client.Tasks().Get(t.Context(), task)
		return err == nil && got.State == state
	})
}

func (w *pandaWorld) failed(t *testing.T, _ *pandaWorld) {
	task := w.task(t, "FAILED", 1, "echo to stdout; echo to stderr >&2; exit 7")
	tap := recordWire(t, w.http.client.URL())
	w.startPilot(t, tap.url, "FAILED").leaves(t)
	job := w.one(t, task, "the job is over", func(j wire.JobRow) bool { return j.State == "failed" })
	a := last(job)
	if a.Attempt != 1 || a.State != "failed" || a.ExitCode == nil || *a.ExitCode != 7 || a.Report["pilotErrorCode"] != 1305.0 || a.Report["transExitCode"] != 7.0 {
		t.Errorf("%+v", a)
	}
	w.log(t, job.ID, "to stdout")
	w.log(t, job.ID, "to stderr")
	if got := tap.said(); !strings.HasPrefix(got, "getJob starting running") || !strings.HasSuffix(got, " failed") {
		t.Errorf("on the wire: %s", got)
	}
	w.over(t, task, "failed")
}

func (w *pandaWorld) killed(t *testing.T, _ *pandaWorld) {
	task := w.task(t, "KILLED", 3, "echo begun; sleep 1000")
	tap := recordWire(t, w.http.client.URL())
	pilot := w.startPilot(t, tap.url, "KILLED")
	job := w.one(t, task, "the job runs", func(j wire.JobRow) bool { return last(j).State == "running" })
	if _, err := w.http.client.Jobs().Kill(t.Context(), job.ID); err != nil {
		t.Fatal(err)
	}
	job = w.one(t, task, "the job is cancelled", func(j wire.JobRow) bool { return j.State == "cancelled" })
	pilot.leaves(t)
	if a := last(job); len(job.Attempts) != 1 || a.Report["pilotErrorCode"] != 1144.0 {
		t.Errorf("%+v", job)
	}
	w.log(t, job.ID, "begun")
	if got := tap.said(); !strings.HasSuffix(got, " failed") || !slices.Contains(tap.commands(), "tobekilled") {
		t.Errorf("on the wire: %s, told %v", got, tap.commands())
	}
}

// A pilot that dies is lost with its lease, and the job runs again.
func (w *pandaWorld) died(t *testing.T, _ *pandaWorld) {
	task := w.task(t, "DIED", 2, `echo attempt $DIVVY_ATTEMPT; if [ "$DIVVY_ATTEMPT" = 1 ]; then sleep 1000; fi`)
	pilot := w.startPilot(t, w.short.client.URL(), "DIED")
	w.one(t, task, "the job runs", func(j wire.JobRow) bool { return last(j).State == "running" })
	pilot.die()
	w.one(t, task, "the attempt is lost", func(j wire.JobRow) bool { return last(j).State == "lost" && j.State == "ready" })
	w.startPilot(t, w.http.client.URL(), "DIED").leaves(t)
	job := w.one(t, task, "the job is over", func(j wire.JobRow) bool { return j.State == "finished" })
	if len(job.Attempts) != 2 || job.Attempts[0].State != "lost" || job.Attempts[1].State != "finished" {
		t.Errorf("%+v", job)
	}
	w.log(t, job.ID, "attempt 2")
}

// A pilot with a certificate names no origin.
func (w *pandaWorld) x509(t *testing.T, _ *pandaWorld) {
	task := w.task(t, "X509", 1, "echo behind TLS")
	w.startPilot(t, w.tls, "X509", "AUTH=x509", "CLIENT_PEM="+w.pem, "CAPATH="+w.cas).leaves(t)
	job := w.one(t, task, "the job is over", func(j wire.JobRow) bool { return j.State == "finished" })
	if a := last(job); a.Attempt != 1 || a.ExitCode == nil || *a.ExitCode != 0 {
		t.Errorf("%+v", a)
	}
	w.log(t, job.ID, "behind TLS")
}

// prun packs a folder, uploads it and submits; its job makes a file, which the pilot stores.
func (w *pandaWorld) prun(t *testing.T, _ *pandaWorld) {
	at := w.http.client.URL()
	said := w.submitByPrun(t, at, "--exec", "sh run.sh %RNDM:41 'two words'")
	found := regexp.MustCompile(`jediTaskID=(\d+)`).FindStringSubmatch(said)
	if found == nil {
		t.Fatal(said)
	}
	var task int64
	if _, err := fmt.Sscan(found[1], &task); err != nil {
		t.Fatal(err)
	}
	pilot := w.startPilot(t, at, "PRUN", "JOBLABEL=user")
	pilot.leaves(t)
	job := w.one(t, task, "the job is over", func(j wire.JobRow) bool { return j.State == "finished" })
	w.over(t, task, "done")
	name := "user.alice." + found[1] + "._" + serial + ".out.txt"
	content := pilot.stored(t, name)
	if string(content) != sequel+" two words\nof the sandbox\n" {
		t.Errorf("%q", content)
	}
	listed, _ := last(job).Outputs[name].(map[string]any)
	if size, _ := listed["fsize"].(float64); int(size) != len(content) || listed["adler32"] == nil || listed["endpoint"] != "MOCK_DISK" {
		t.Errorf("outputs %v", last(job).Outputs)
	}
	w.log(t, job.ID, "output out.txt is "+name)
	if got, err := w.http.client.Tasks().Get(t.Context(), task); err != nil || got.User != "alice" {
		t.Errorf("%+v, %v", got, err)
	}
	// What was uploaded need not be again, and what cannot be had is said in words.
	again := w.submitByPrun(t, at, "--exec", "true", "--containerImage", "docker://x")
	if !strings.Contains(again, "start the image in --exec") {
		t.Error(again)
	}
}

// stored is what the pilot's copytool has moved to where it leaves files.
func (p *realPilot) stored(t *testing.T, name string) (content []byte) {
	t.Helper()
	err := filepath.WalkDir(p.dir, func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == name {
			content, err = os.ReadFile(file)
		}
		return err
	})
	if err != nil || content == nil {
		t.Errorf("%s was not stored: %v", name, err)
	}
	return content
}

// submitByPrun runs prun in a folder with a script and returns what it says.
func (w *pandaWorld) submitByPrun(t *testing.T, url string, args ...string) string {
	t.Helper()
	dir, conf := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "run.sh"), "echo $1 $2 >out.txt; cat data.txt >>out.txt\n")
	write(t, filepath.Join(dir, "data.txt"), "of the sandbox\n")
	tree := filepath.Join(filepath.Dir(w.pilot), "panda-client")
	cmd := exec.Command("/usr/bin/python3", append([]string{"-c", "import sys; sys.argv[0]='prun'; from pandaclient.PrunScript import main; main()",
		"--noBuild", "--outDS", fmt.Sprintf("user.alice.%x", sha256.Sum256([]byte(strings.Join(args, " "))))[:30], "--outputs", "out.txt", "--vo", "wlcg", "--site", "PRUN"}, args...)...)
	at := url + "/server/panda"
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + conf, "PYTHONPATH=" + tree, "PANDA_SYS=" + tree, "PANDA_CONFIG_ROOT=" + conf,
		"PANDA_URL=" + at, "PANDA_URL_SSL=" + at, "PANDACACHE_URL=" + at, "PANDA_BEHIND_REAL_LB=1", "PANDA_VERIFY_HOST=off",
		"PANDA_AUTH=oidc", "PANDA_AUTH_VO=wlcg", "PANDA_AUTH_ID_TOKEN=" + personToken}
	out, err := cmd.CombinedOutput()
	t.Logf("prun: %v\n%s", err, out)
	return string(out)
}
