// Package holdings tells what jobs hold beside their slots: claims, units of resources, and slots that wait for jobs that start together.
//
//	machine.View ──▶ Book: ClaimStanding ResourceStanding GangHold ◀── claims that are over, and times, of the tables
//
// # Invariants
//
//  1. What is live is as the machine of this daemon has it at the moment of the question, what is over as it is folded.
//  2. Nothing is written.
//  3. Lists are bounded: holders, waiters and claims of a resource by a hundred, jobs that are looked at by ten thousand.
package holdings
