package work

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jedib0t/go-pretty/v6/progress"
	"github.com/spf13/cobra"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/cmd/divvy/cli"
	"github.com/divvyhq/divvy/cmd/divvy/fail"
	"github.com/divvyhq/divvy/cmd/divvy/show"
	"github.com/divvyhq/divvy/generator/spec"
)

// taskSubmitCommand submits every document of a file.
func taskSubmitCommand(c *cli.CLI) *cobra.Command {
	var file, key string
	var strict bool
	cmd := &cobra.Command{
		Use:   "submit -f tasks.yml",
		Short: "Submit the tasks of a file, one or many documents",
		Long: `Submit the tasks of a file: YAML or JSON, one or many documents with --- between them.

The file is checked as a whole first. An inputs_file, whose path is relative to the file that names it, is
streamed, however long it is. What no queue of the site can run is submitted with a warning, and
refused with --strict. When the connection breaks, the same command with the --key that it printed
goes on where it stopped; nothing is submitted twice.`,
		Example: "  divvy task submit -f tasks.yml",
		Args:    cli.Takes(),
	}
	cmd.RunE = c.WithClient(func(ctx context.Context, cl *client.Client, _ []string) error {
		src, name, err := cli.ReadFile(c, file)
		if err != nil {
			return err
		}
		specs, err := spec.ParseSpecs(name, src)
		if err != nil {
			return err
		}
		s := &submission{CLI: c, cl: cl, key: key, strict: strict, folder: filepath.Dir(name)}
		if s.key == "" {
			s.key = strings.ToLower(rand.Text()[:16])
		}
		return s.all(ctx, file, specs)
	})
	f := cmd.Flags()
	f.StringVarP(&file, "file", "f", "", "file of tasks; - reads standard input")
	_ = cmd.MarkFlagRequired("file")
	_ = cmd.MarkFlagFilename("file", "yml", "yaml", "json")
	f.StringVar(&key, "key", "", "go on with a submission that broke off: the key that it printed")
	f.BoolVar(&strict, "strict", false, "refuse a task that no queue of the site can run")
	return cmd
}

// submission is one run of submit. The idempotency key of document i is key-i.
type submission struct {
	*cli.CLI
	cl     *client.Client
	key    string
	strict bool   // refuse what no queue can run
	folder string // where inputs_file is looked for
}

func (s *submission) all(ctx context.Context, file string, specs []spec.Spec) error {
	for _, task := range specs { // a file that cannot be is found before anything is submitted
		if task.InputsFile == "" {
			continue
		}
		if err := readable(s.inputs(task)); err != nil {
			return fmt.Errorf("task %s: inputs_file: %w", task.Name, err)
		}
	}
	order, err := spec.Order(specs)
	if err != nil {
		return err
	}
	tasks, err := s.batches(ctx, specs, order)
	if err != nil && (len(tasks) > 0 || client.IsUnavailable(err) || ctx.Err() != nil) {
		err = s.goOn(err, file)
	}
	return errors.Join(s.printTasks(tasks), err)
}

// printTasks says which tasks there are now, those of a submission that broke off too.
func (s *submission) printTasks(tasks []wire.Task) error {
	if len(tasks) == 0 {
		return nil
	}
	for i, t := range tasks {
		if t.CannotRun == "" {
			continue
		}
		if i == mostWarned {
			fmt.Fprintf(s.Err, "warning: there may be more; divvy task list says which\n")
			break
		}
		fmt.Fprintf(s.Err, "warning: task %d, %s: %s\n", t.ID, t.Name, t.CannotRun)
	}
	return s.Print(wire.Page[wire.Task]{Items: tasks}, func(w io.Writer) { writeSubmitted(w, tasks) })
}

// mostWarned bounds the tasks of one submission whose warnings are printed.
const mostWarned = 20

// goOn adds the command that submits the rest; under the same key nothing is submitted twice.
func (s *submission) goOn(err error, file string) error {
	err = cli.Explain(err)
	next := fmt.Sprintf("Go on with: divvy task submit -f %s --key %s", file, s.key)
	var h fail.Hinted
	if errors.As(err, &h) {
		next = h.Hint + "\n  " + next
	}
	return fail.Hintf(err, "%s", next)
}

func (s *submission) one(ctx context.Context, task spec.Spec, key string) (wire.Task, error) {
	t, err := s.submitOne(ctx, ServerSpec(task), key)
	if err != nil || task.InputsFile == "" || t.State != "submitting" {
		return t, err
	}
	if err := s.stream(ctx, t.ID, s.inputs(task)); err != nil {
		return t, err
	}
	return s.cl.Tasks().Commit(ctx, t.ID)
}

// submitOne submits a task, by the request for many where it may be refused as one that cannot run.
func (s *submission) submitOne(ctx context.Context, task wire.TaskSpec, key string) (t wire.Task, err error) {
	if !s.strict {
		return s.cl.Tasks().Submit(ctx, task, key)
	}
	all, err := s.cl.Tasks().SubmitMany(ctx, []wire.KeyedTask{{Key: key, Task: task, Strict: true}})
	switch {
	case err != nil:
		return t, err
	case len(all) != 1 || all[0].Task == nil && all[0].Problem == nil:
		return t, errors.New("the daemon's answer has no task")
	case all[0].Problem != nil:
		return t, all[0].Problem
	}
	return *all[0].Task, nil
}

// ServerSpec is the spec as the server takes it: it reads no files of the client.
func ServerSpec(s spec.Spec) wire.TaskSpec {
	if s.InputsFile != "" {
		s.InputsFile, s.InputsStreamed = "", true
	}
	return wire.As[wire.TaskSpec](s)
}

func (s *submission) inputs(task spec.Spec) string {
	if filepath.IsAbs(task.InputsFile) {
		return task.InputsFile
	}
	return filepath.Join(s.folder, task.InputsFile)
}

// readable reads a file of inputs once, for what is wrong with it. Of a pipe that would be all there is.
func readable(file string) error {
	st, err := os.Stat(file)
	if err != nil || !st.Mode().IsRegular() {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	n, err := spec.EncodeInputs(io.Discard, f, spec.FormatOf(file), 0)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", file, err)
	case n == 0:
		return fmt.Errorf("%s: has no inputs", file)
	}
	return nil
}

// stream sends the inputs with a progress bar on a terminal.
func (s *submission) stream(ctx context.Context, task int64, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	read := &countingReader{r: f}
	done := progressOf(s.CLI, fmt.Sprintf("inputs of task %d", task), st.Size(), read)
	defer done()
	n, err := s.cl.Tasks().SendFile(ctx, task, func(dst io.Writer, skip int64) error {
		_, err := spec.EncodeInputs(dst, read, spec.FormatOf(file), skip)
		return err
	}, nil)
	if err != nil {
		return fmt.Errorf("%s: %d inputs are stored: %w", file, n, err)
	}
	return nil
}

// countingReader counts what was read, for another goroutine to see.
type countingReader struct {
	r io.Reader
	n atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// progress draws how far a long piece of work came, on stderr and only on a terminal. Call done at its end.
func progressOf(c *cli.CLI, what string, total int64, read *countingReader) (done func()) {
	width, ok := show.Terminal(c.Err)
	if !ok {
		return func() {}
	}
	w := progress.NewWriter()
	w.SetOutputWriter(c.Err)
	w.SetTrackerLength(max(10, min(40, width-60)))
	w.SetUpdateFrequency(100 * time.Millisecond)
	w.SetStyle(progress.StyleDefault)
	w.Style().Visibility.TrackerOverall = false
	t := &progress.Tracker{Message: what, Total: max(total, 1), Units: progress.UnitsBytes}
	w.AppendTracker(t)
	go w.Render()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				t.SetValue(min(read.n.Load(), t.Total-1)) // the last byte read is not yet the last byte stored
			}
		}
	}()
	return func() {
		close(stop)
		<-stopped
		t.MarkAsDone()
		w.Stop()
	}
}

func writeSubmitted(w io.Writer, tasks []wire.Task) {
	g := show.New(w, ">task", "name", "share", "state", ">pieces", "reason")
	for _, t := range tasks {
		g.Row(t.ID, t.Name, show.OrDash(t.Share), g.State(t.State), t.Pieces, show.OrDash(cmp.Or(t.Reason, t.CannotRun)))
	}
	g.Flush()
}
