// Package job defines what jobs ask for and what slots offer, and says whether they fit.
//
//	Requirements   what a job needs of a slot; jobs that need the same have one shape
//	ClaimNeed      the part of it that follows from its claims, and changes as these are bound
//	Slot, Room     what a pilot offers with one pull, and what is left of it as it gets jobs
//	Only           which jobs a pull takes
//	Fits, RunsAt   whether a queue may run a job at all, and the first reason why not
//	FieldError     what is wrong with a request, by the name of its field
//
// # Invariants
//
//  1. Everything is a value. Nothing here reads a clock, a database or any state: the same values give the same
//     answer.
//  2. Fits looks at the site file, the job and the slot's labels only, not at what is full or taken now.
//  3. A figure of 0 in a slot was not stated and bounds nothing; in requirements it asks for nothing.
//  4. A reason names the field, what is needed and what is there.
package job
