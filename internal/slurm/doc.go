// Package slurm knows the language of Slurm's commands, and nothing of divvy's API: options, #SBATCH lines, times and sizes, arrays,
// dependencies, names of output files, states, and formats of lists. It is pure: text in, values or text out.
//
//	command line ──Parse──▶ Given ◀──Directives── #SBATCH lines
//	Given ──NewJob──▶ Job ──Launcher──▶ the shell text that a pilot runs
//	rows ──Table──▶ what squeue and sacct print
//
// # Ids
//
// A Slurm job is a task of divvy, and has its id. 123_4 is the piece of array task 123 whose SLURM_ARRAY_TASK_ID is 4. The raw id of a
// piece (JobIDRaw, SLURM_JOB_ID, %j) is RawBase plus the id of its divvy job: it needs no table, and no task has an id so large.
//
// # What is promised
//
//  1. An option is in a table, by which it has an effect or is accepted without one, or it is refused by name. 'divvy slurm --help'
//     prints the tables.
//  2. The script, its arguments and its environment travel as they are, byte by byte: Launcher quotes all that it puts into shell text.
//  3. Launcher makes POSIX shell, so a job needs /bin/sh where it runs, and no divvy.
//  4. Parsers take any text without a panic; tests fuzz them.
//
// Tests hold the answers against those of a real Slurm 22.05, as unmodified clients parse them.
package slurm
