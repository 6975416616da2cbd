// Package e2e has no code, only tests of divvy as a whole: the built program, in processes of its own, over HTTP, on
// real PostgreSQL.
//
//	TestKills         10,000 jobs, 32 pilots, 3 daemons; daemons, pilots and the postmaster die by SIGKILL on the way
//	TestW6 P8 P13     rules of sharing, as a client of the API sees them
//	TestColdStart     900 leaves whose jobs are still to be made when pilots pull: each gets its part all the same
//	TestE9 W2         plans of shares, likewise: lending up to a limit, a change of weights
//	TestUnits…        A1 to A3, A5, A7 to A9, A11 to A15: units of resources, split over users
//	TestReclaim       E3, E4, and pilots that end a job for another share, or do not
//	TestIdlePilot     how soon a pilot that waits at one daemon has a job that was submitted at another
//	TestFirstContact  the quick start, as a stranger does it
//	TestChaos         with the tag chaos: one fault a play, of processes, of PostgreSQL and of what lies between them; see
//	                  docs/guarantees.md. Its verdict is that of TestKills and more: the log as a chain, usage, claims, places of jobs
//	TestPatroni       with the tag chaos: PostgreSQL of two nodes (deploy/patroni), nodes die, etcd stands still; the same verdict
//	TestUpgrade       with the tag chaos: daemons of the last release in .ci/releases and new ones, one by one, and back, once a release has the baseline
//	TestPandaPilot    with the tag pandapilot: PanDA's pilot and prun as they are published
//	TestIssuer        with the tag issuer: people log in at an issuer that others wrote (issuer, a module of its own)
//	TestPython        with the tag python: the Python client, its page and its examples
//	TestRestore       with the tag chaos: back to a moment out of a base backup and WAL, and out of a dump
//
// # What TestKills proves
//
//  1. Every job ended once: finished, or failed with all its attempts used up. Every attempt has one outcome.
//  2. In every snapshot on the way the tables agree: counts of shares and tasks = a recount of leases, ranges and history, each job is in
//     one place, and no hard limit is exceeded.
//  3. What the clients saw of each job is linearizable (porcupine): one lease at a time, a fence that holds, ends
//     that are idempotent. Calls that got no answer may have happened or not; a lease that no client heard of, and
//     the end of one that ran out, are taken from history.
//  4. No lease was taken before it ran out.
//  5. No pull was refused while eligible: no 204 although a job was ready from before the pull until after the
//     answer, that the slot could have run and that every hard limit admitted all the time.
//  6. No two transactions waited for each other.
//
// Random choices follow a seed that is printed; DIVVY_E2E_SEED repeats one.
package e2e
