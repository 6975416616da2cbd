// Package runs makes of leases what pilots start: the payload of the task with the piece of the job put in, and where its claims are.
//
//	[]machine.Lease ──Render──▶ []Run ──AddClaims──▶ command, environment, requirements
//
// # Invariants
//
//  1. Payloads and shapes never change, and are kept: so many as there is room for, those that are used.
//  2. Leases whose answers leave together are read together: one statement for all that asked while the one before it was under way. Jobs behind
//     them are read ahead, which may be used for a first attempt alone: between two of them a job can be split.
//  3. Command and Env are only to be read: other jobs of the task may have the same ones.
package runs
