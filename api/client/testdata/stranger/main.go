// A pilot of somebody else: it takes a job, runs it and reports the result. The argument is the daemon's URL.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"

	"github.com/divvyhq/divvy/api/client"
	"github.com/divvyhq/divvy/api/wire"
)

func main() {
	c, err := client.New(client.Config{URL: os.Args[1]})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	if err = run(context.Background(), c); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, c *client.Client) error {
	reply, err := c.Pull(ctx, wire.PullRequest{Queue: "CERN", Pilot: "stranger", Slot: wire.Slot{Cores: 1}, RequestID: "1"})
	if errors.Is(err, client.ErrNoJobs) {
		fmt.Println("no job")
		return nil
	}
	if err != nil {
		return err
	}
	lease := reply.Leases[0]
	out, err := exec.CommandContext(ctx, lease.Command[0], lease.Command[1:]...).Output()
	if err != nil {
		return err
	}
	exitCode := 0
	done, err := c.Finish(ctx, wire.FinishRequest{Pilot: "stranger", Results: []wire.Result{
		{Lease: lease.Lease, Outcome: wire.Finished, ExitCode: &exitCode, LogTail: string(out)}}})
	if err != nil {
		return err
	}
	fmt.Printf("job %d: %s", lease.Job, out)
	fmt.Println("verdict:", done.Verdicts[0].Verdict)
	return nil
}
