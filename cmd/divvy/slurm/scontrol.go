package slurm

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
	"github.com/divvyhq/divvy/internal/slurm"
)

// scontrol shows jobs, partitions, the configuration and names of nodes; it holds, releases and requeues jobs.
func scontrol(ctx context.Context, c *command) error {
	args := c.given.Args
	if len(args) == 0 {
		return &slurm.UsageError{Command: c.name, Text: "no command given: show, hold, release, requeue and ping are known to divvy"}
	}
	switch verb := args[0]; verb {
	case "show":
		return c.show(ctx, args[1:])
	case "ping":
		if err := c.client.Daemon().Live(ctx); err != nil {
			return err
		}
		fmt.Fprintf(c.Out, "Slurmctld(primary) at %s is UP\n", c.client.URL())
		return nil
	case "hold", "release", "requeue":
		return c.steer(ctx, verb, args[1:])
	default:
		return fmt.Errorf("%s is not known to divvy: show, hold, release, requeue and ping are", verb)
	}
}

func (c *command) show(ctx context.Context, args []string) error {
	what, name := "", ""
	if len(args) > 0 {
		what = strings.ToLower(args[0])
	}
	if len(args) > 1 {
		name = args[1]
	}
	switch what {
	case "config", "configuration":
		for _, line := range configuration {
			fmt.Fprintln(c.Out, line)
		}
		return nil
	case "job", "jobs", "jobid", "jobids":
		return c.showJobs(ctx, name)
	case "partition", "partitions":
		return c.showPartitions(ctx, name)
	case "hostname", "hostnames":
		if name == "" {
			name = os.Getenv("SLURM_JOB_NODELIST")
		}
		hosts, err := slurm.Hosts(name)
		if err != nil {
			return err
		}
		for _, h := range hosts {
			fmt.Fprintln(c.Out, h)
		}
		return nil
	case "hostlist":
		fmt.Fprintln(c.Out, name)
		return nil
	}
	return fmt.Errorf("show %s is not known to divvy: job, partition, config and hostnames are", what)
}

// configuration is what clients look for in that of Slurm.
var configuration = []string{
	"Configuration data of divvy, in Slurm's words",
	"AccountingStorageType   = accounting_storage/slurmdbd",
	"ClusterName             = divvy",
	"DefMemPerNode           = UNLIMITED",
	"JobRequeue              = 1",
	"KillWait                = 30 sec",
	fmt.Sprintf("MaxArraySize            = %d", slurm.MaxArray+1),
	"MinJobAge               = 300 sec",
	"SchedulerTimeSlice      = 30 sec",
	"SelectType              = select/cons_tres",
	"SLURM_VERSION           = " + version,
}

// version is that of the Slurm whose answers are given.
const version = "22.05.8"

// showJobs prints jobs as words K=V.
func (c *command) showJobs(ctx context.Context, id string) error {
	d := deep{spec: true, attempts: true}
	var rows []slurm.Row
	var tasks []wire.Task
	var err error
	if id != "" {
		rows, tasks, err = c.one(ctx, id, d)
	} else if tasks, err = c.live(ctx, filter{}, true); err == nil {
		rows, err = c.rowsOf(ctx, tasks, d)
	}
	if err != nil {
		return fmt.Errorf("slurm_load_jobs error: %w", err)
	}
	sep := "\n   "
	if c.given.Has("oneliner") {
		sep = " "
	}
	for i := range rows {
		env := map[string]string{}
		for _, t := range tasks {
			if t.ID == rows[i].Job && t.Spec != nil {
				env = t.Spec.Env
			}
		}
		fmt.Fprintln(c.Out, strings.Join(rows[i].Words(env), sep))
		if sep != " " {
			fmt.Fprintln(c.Out)
		}
	}
	return nil
}

func (c *command) showPartitions(ctx context.Context, name string) error {
	all, err := c.queueRows(ctx)
	if err != nil {
		return err
	}
	n := 0
	for _, p := range all {
		if name != "" && p.name != name {
			continue
		}
		n++
		sep := "\n   "
		if c.given.Has("oneliner") {
			sep = " "
		}
		standard := "NO"
		if p.name == slurm.Any {
			standard = "YES"
		}
		fmt.Fprintln(c.Out, strings.Join([]string{"PartitionName=" + p.name, "Default=" + standard, "MaxTime=" + p.limit, "State=" + strings.ToUpper(p.state), fmt.Sprintf("TotalCPUs=%s TotalNodes=%d", p.slots, p.pilots)}, sep))
		if sep != " " {
			fmt.Fprintln(c.Out)
		}
	}
	if n == 0 {
		return fmt.Errorf("Partition %s not found", name)
	}
	return nil
}

// steer holds, releases or requeues whole jobs.
func (c *command) steer(ctx context.Context, verb string, args []string) error {
	for _, arg := range args {
		ids, err := slurm.ParseIDs(arg)
		if err != nil {
			return err
		}
		for _, id := range ids {
			if id.Raw > 0 || id.Piece >= 0 {
				return fmt.Errorf("%s %s: divvy can do that with a whole job only", verb, arg)
			}
			if err := c.steerOne(ctx, verb, id.Job); client.IsNotFound(err) {
				return fmt.Errorf("%w for job %d", errNoJob, id.Job)
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *command) steerOne(ctx context.Context, verb string, id int64) (err error) {
	switch verb {
	case "hold":
		_, err = c.client.Tasks().Pause(ctx, id)
		return err
	case "release":
		_, err = c.client.Tasks().Resume(ctx, id)
		return err
	}
	t, err := c.client.Tasks().Get(ctx, id)
	switch {
	case err != nil:
		return err
	case t.EndedAt == nil:
		return fmt.Errorf("requeue of job %d: divvy requeues jobs that have ended: scancel it first", id)
	}
	_, err = c.client.Tasks().Retry(ctx, id, nil)
	return err
}
