// Package judge says what state a task is in by what became of its jobs, and ends them. A task is over when all that was generated has ended
// and nothing more is to come; the table of Package generator says where it may go from a state.
//
// # Invariants
//
//  1. Nothing else makes a task's state follow from its jobs: judge.sql alone.
//  2. Whoever changes what is to come of a task judges it in the same transaction, its row locked; tasks are locked by id.
//  3. A task that is over is not paused in the log, and its claims wait for no more jobs.
package judge
