// Package ledgertest has the log in memory, for simulations and tests: what ledger.Table does with a database, Memory does without one, and loses
// answers, appends or its newest batches where it is told to.
//
// # Invariants
//
//  1. Tests of package ledger hold Memory to the contract of ledger.Log, and against the table, step by step.
//  2. Only _test.go files import it.
package ledgertest
