// Package suite is S1 to S12 of docs/performance.md: what divvy reaches, beside what PostgreSQL, HTTP and other ways of sharing reach on the
// same machine in the same minutes.
//
//	load (S8) ─▶ daemon ─▶ hold ─▶ rounds: floor, candidate, floor, candidate … ─▶ checks ─▶ figures
//
// A benchmark is a file: how it is set up, its rounds, its figures with their targets. Steps lists them in the order of a run; those that share
// rounds share a step. Package stage says what is promised of database and daemon; beyond that:
//
//  1. Floor and candidate take turns within a run, so that other work on the machine falls on both. The figure is
//     the ratio of the medians of the rounds; all rounds are in the report.
//  2. The HTTP load is the same for the candidate and for the empty handler.
//  3. If a check fails, Run returns a *recount.Error and no figure at all. Where several daemons have filled a site, every share is within
//     its bound of sharing.md §2 when nothing moves any more.
//  4. What is not measured is said to be not measured.
//
// A brief run makes once what several measurements need. The claims of S2 are those without renewals of S7, in the same turns, and those
// before the snapshot of S6. The base data set is the grown one of S5 and that of S9, where Growth says the same sizes.
//
// Statements on divvy's schema are in sql/; those of the floors, on tables of their own, in peers/.
package suite
