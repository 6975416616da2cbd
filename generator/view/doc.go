// Package view reads tasks for people: one, some by their ids, pages in several orders, and sums of the work of all.
//
//	Reader: Task · TasksByID · Tasks (by id, or newest first) · List (for a page, by an order) · Recent (with Specs) · Work
//
// # Invariants
//
//  1. Nothing is written, and nothing locked.
//  2. Whatever is selected, a read is bounded: a page that looks for few among many may be short, and says where to go on.
//  3. Counts of jobs are those of the fold, at most a second old.
package view
