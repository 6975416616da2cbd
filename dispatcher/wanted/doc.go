// Package wanted computes how many pilots each queue should have now, in total, and explains the number.
//
//	Input: queues, ready and coming jobs by share and size, what the solver lets each share hold
//	   │ Solve, pure
//	   ▼
//	Need per queue ──Level.Next(now)──▶ Pilots: wanted, keep, terms that add up
//
// # The rule
//
//  1. A share brings no more jobs than its target allows beyond what it holds (its max, limits of lending), and no more than the free
//     units of their resources allow.
//  2. Jobs that can run at several queues are split: those with the fewest queues first; first to pilots that already ask for jobs, then
//     in proportion to the free capacity of the queues, in whole pilots. So the sum over all queues is the demand, once.
//  3. A job counts as the part of a pilot that it takes: with 8 cores, two jobs of 3 cores are a pilot. A job that no pilot of the queue
//     can run does not count there.
//  4. need = running + split demand, rounded up; wanted = need within min and max, and at most burst above the pilots that are there.
//
// Pilots are not counted one by one: what runs and the cores that wait in pulls are all the room that pilots have, since a pilot offers
// all of its free room at all times.
//
// # Invariants
//
//  1. Level-triggered: the answer follows from the present alone, but for Keep and the pilots that are alive.
//  2. min ≤ wanted ≤ max unless burst says less. More demand never makes the sum over the queues smaller.
//  3. Wanted never asks for a pilot that present demand does not need: while it falls it follows the pilots that are alive, down to need.
//  4. Keep is the number above which queued pilots may be cancelled. It falls only after need was below it for idle.
//  5. Terms of an answer add up to wanted, in thousandths of a pilot.
//
// Solve costs kinds × queues in the worst case, never the number of jobs.
package wanted
