package web

import (
	"context"
	"fmt"
	"strconv"

	"github.com/divvyhq/divvy/generator"
)

// taskVerb is a verb as a button has it.
type taskVerb struct {
	name    string
	says    string // what it does
	danger  bool   // it cannot be taken back
	confirm bool
}

var taskVerbs = map[generator.Verb]taskVerb{
	generator.VerbKill:      {name: "Kill", says: "All of its jobs are cancelled, and those that run are told to end.", danger: true, confirm: true},
	generator.VerbFinish:    {name: "Finish", says: "No more of its jobs start, and it is over when those that run have ended. The rest is dropped.", danger: true, confirm: true},
	generator.VerbPause:     {name: "Pause", says: "No more of its jobs start; those that run go on."},
	generator.VerbResume:    {name: "Resume", says: "It goes on."},
	generator.VerbRetry:     {name: "Retry", says: "Its failed and cancelled pieces are tried again, as new jobs.", confirm: true},
	generator.VerbAvalanche: {name: "End scouting", says: "The rest of its jobs is made by what its scouts have measured so far.", confirm: true},
}

// tellTask is POST /tasks/{task}/say.
func (w *work) tellTask(ctx context.Context, r *Request) (Answer, error) {
	id, err := r.id("task")
	if err != nil {
		return Answer{}, err
	}
	verb := generator.Verb(r.Form.Get("verb"))
	v, known := taskVerbs[verb]
	if !known {
		return Answer{}, fmt.Errorf("%w: verb is %q, expected kill, finish, pause, resume, retry or avalanche", ErrQuery, verb)
	}
	to := taskLink(id)
	if v.confirm && !r.Sure() {
		task, err := w.tasks.Task(ctx, id)
		if err != nil {
			return Answer{}, err
		}
		return r.Confirm(Confirmation{Question: fmt.Sprintf("%s task %d?", v.name, id), Verb: v.name, Danger: v.danger, Back: to, Details: []string{
			fmt.Sprintf("%s, of %s, is %s: %s of %s jobs are over, %s are leased, %s are ready.", task.Name, task.User, task.State,
				count(TaskLine{task}.Ended()), count(task.Jobs.Total), count(task.Jobs.Leased), count(task.Jobs.Ready)), v.says}}), nil
	}
	c, err := w.steering.Say(ctx, verb, id, nil)
	if err != nil {
		return Answer{}, err
	}
	return Answer{To: to, Said: changeSays(c, v)}, nil
}

func changeSays(c generator.Change, v taskVerb) string {
	if c.Before == c.After && c.Ready+c.Leased == 0 && c.Again == 0 {
		return fmt.Sprintf("Nothing to do: task %d is %s.", c.Task, c.After)
	}
	s := fmt.Sprintf("%s: task %d was %s and is %s.", v.name, c.Task, c.Before, c.After)
	if c.Ready > 0 {
		s += " Jobs that did not run and are affected: " + count(c.Ready) + "."
	}
	if c.Leased > 0 {
		s += " Running ones that were told to end: " + count(c.Leased) + "."
	}
	if c.Again > 0 {
		s += " Pieces that are tried again: " + count(c.Again) + "."
	}
	return s
}

// prioritise is POST /tasks/{task}/priority.
func (w *work) prioritise(ctx context.Context, r *Request) (Answer, error) {
	id, err := r.id("task")
	if err != nil {
		return Answer{}, err
	}
	priority, err := strconv.Atoi(r.Form.Get("priority"))
	if err != nil || priority < -1_000_000_000 || priority > 1_000_000_000 {
		return Answer{}, fmt.Errorf("%w: priority is %q, expected a whole number between -1000000000 and 1000000000", ErrQuery, r.Form.Get("priority"))
	}
	c, err := w.steering.Prioritise(ctx, id, priority)
	if err != nil {
		return Answer{}, err
	}
	return Answer{To: taskLink(id), Said: fmt.Sprintf("Task %d had priority %d and has %d.", id, c.Before, c.After)}, nil
}

// killJob is POST /jobs/{job}/kill.
func (w *work) killJob(ctx context.Context, r *Request) (Answer, error) {
	id, err := r.id("job")
	if err != nil {
		return Answer{}, err
	}
	to := jobLink(id)
	job, err := w.dispatcher.Job(ctx, id)
	if err != nil {
		return Answer{}, err
	}
	if job.EndedAt != nil {
		return Answer{To: to, Said: fmt.Sprintf("Nothing to do: job %d is %s.", id, job.State)}, nil
	}
	if !r.Sure() {
		does := "It is cancelled at once."
		if job.State == "leased" {
			does = fmt.Sprintf("Pilot %s at %s is told to end it with its next renewal.", job.Pilot, job.Queue)
		}
		return r.Confirm(Confirmation{Question: fmt.Sprintf("Kill job %d?", id), Verb: "Kill", Danger: true, Back: to,
			Details: []string{fmt.Sprintf("It is %s, of task %d.", job.State, job.Task), does, "It is not tried again, unless its task is."}}), nil
	}
	if _, err := w.dispatcher.KillJob(ctx, id); err != nil {
		return Answer{}, err
	}
	if job.State == "leased" {
		return Answer{To: to, Said: fmt.Sprintf("Pilot %s is told to end job %d with its next renewal.", job.Pilot, id)}, nil
	}
	return Answer{To: to, Said: fmt.Sprintf("Job %d was killed.", id)}, nil
}

func taskLink(id int64) string { return "/tasks/" + strconv.FormatInt(id, 10) }

func jobLink(id int64) string { return "/jobs/" + strconv.FormatInt(id, 10) }
