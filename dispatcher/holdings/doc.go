// Package holdings shows what jobs hold beside their slots: claims, units of resources, and slots held for gangs.
//
//	machine.View ──▶ Book: ClaimStanding ResourceStanding GangHold ◀── claims that are over, and times, of the tables
//
// # Invariants
//
//  1. Live claims and units are as this daemon's machine has them at the moment of the question; ended ones as they
//     are folded.
//  2. Nothing is written.
//  3. Lists are bounded: a hundred holders, waiters and claims of a resource, and ten thousand jobs looked at.
package holdings
