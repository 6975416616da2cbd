// Package slurm has commands in Slurm's words: sbatch, squeue, sacct, scancel, scontrol, sinfo, srun, sacctmgr and sshare, as clients of
// the API. Package internal/slurm knows the words; here they become calls, and answers become what Slurm's own commands print.
//
//	DIR/sbatch (a script of 'divvy slurm install') ──▶ divvy slurm sbatch … ──▶ Run ──▶ a task
//
// # What is what
//
//   - A job is a task, with its id; the array 123 a task of as many pieces as it has indices, 123_4 a piece of it. Other tasks of a user
//     are shown too, those of several pieces as arrays.
//   - A partition is a queue, and "any" all queues: the default, so that no client that asks sinfo for it binds its jobs to one queue.
//   - An account is a share if a leaf has that path, else a working group, by which the site's rules may give a share.
//   - A job runs once, as under Slurm: it is lost twice at the most before it fails, and a failure is final. Retry rules of the site apply.
//   - A job of which a dependency failed is CANCELLED, as with --kill-on-invalid-dep=yes.
//
// # What is promised
//
//  1. Results on stdout, errors on stderr, exit codes: as Slurm's own. A daemon that does not answer within 8 s is an error, never
//     an empty list.
//  2. sbatch asks once, under an idempotency key: a repeat after a broken connection makes no second job.
//  3. No command but sbatch --wait and srun outside of a job waits for anything.
//
// # Settings
//
// Those of divvy (DIVVY_SERVER, DIVVY_TOKEN, …); DIVVY_SLURM_LABEL, the label of tasks (user); DIVVY_SLURM_MIN_MEMORY_MB, what jobs get
// that ask for less memory (0): a pilot ends a job that takes more than it asked for, where many a Slurm only counts it.
package slurm
