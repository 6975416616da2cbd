// Package runs turns leases into what pilots start: the task's payload with the job's piece filled in, and where its claims are.
//
//	[]machine.Lease ──Render──▶ []Run ──AddClaims──▶ command, environment, requirements
//
// # Invariants
//
//  1. Payloads and shapes never change, and are cached, the most used ones.
//  2. Leases whose answers leave together are read together: one statement serves all that asked while the previous one ran. It reads ahead
//     the jobs behind them, for first attempts only: between two attempts a job can be split.
//  3. Command and Env are read-only: other jobs of the task may share them.
package runs
