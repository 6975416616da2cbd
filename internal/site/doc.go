// Package site turns the site file (share tree, tagging rules, queues, resources) into versions that every daemon works by.
//
//	file ──Parse──▶ Site ──Apply──▶ version n ──Load──▶ shares.Version, tagging.Table
//	         │                │         │
//	      Problems         Refused   Rollback(m) = a new version with the file and the identities of m
//
// # Invariants
//
//  1. A file with any problem changes nothing; all its problems are reported at once, each with file, line,
//     column and, where there is one, a hint.
//  2. Versions are numbered 1, 2, 3 … without gaps, never changed and never deleted; the largest is in force. Every
//     change is one transaction under the site lock: callers take turns, and no reader sees half of one.
//  3. A share or queue keeps its id from version to version while it keeps its path or name, or is renamed by
//     was:. Children follow a renamed parent. An id is never given to another one: removed rows stay.
//  4. was: acts in the version in which it is new; left in the file it does nothing any more.
//  5. A share that has live work stays a leaf. Removing it, or giving it children, is refused with the counts
//     unless a move names the leaf of the new tree that takes the work. A queue with leases stays.
//  6. The state of a queue is no part of the file: SetQueueState changes it, Apply keeps it. New queues are online.
//     Nor is a capacity that was set for a resource: SetResourceCapacity changes it, Apply keeps it as long as the file has
//     what it was set for.
//  7. Load returns what was applied: same tree, rules, queues and resources, with the ids of the tables and what was set.
//
// # The order of one change
//
//	site lock → version in force → who is who → rows of shares that will take no work (FOR UPDATE)
//	→ Hooks.Barrier → Hooks.Live → refuse, or write: version, shares, queues, rules, resources, ids → Hooks.Move
//	→ Hooks.Applied → NOTIFY divvy, 'site'
//
// Whoever inserts a task holds the site lock shared (LockSite, 0) and asks whether its share still is a leaf in
// force. Whoever inserts jobs takes a key lock on the share's row (the foreign key does that) and writes the
// ledger afterwards. So work either is counted here or meets the new tree, and both sides take rows of shares
// before the ledger's locks.
//
// Where ten thousand jobs or more of a share go to a leaf that is in force, they move before that, in transactions of Hooks.Ahead:
// under a barrier that stands as long as a million jobs take, nothing would be given to slots. Such a change is refused for now
// (ErrMoving) while there is more, and its moves are all that there is of it by then. What came meanwhile moves with the change.
//
// A dry run does the same up to the refusal, with the site lock shared and nothing held back, and writes nothing. It adds
// the targets before and after, and how long the way there takes (Way).
//
// # Later
//
//	ApplyLater ──▶ waiting ──time, ApplyDue──▶ applied   as a version like any other
//	                  │                └─────▶ failed    live work forbids it, or it cannot be read: nothing of it acts
//	                  └──CancelLater─────────▶ cancelled
//
// ApplyDue is a step: bounded, idempotent, safe on several daemons. What is due is applied in the order of time, then id,
// each in one transaction under the site lock, in which it is also marked. Errors of the database leave it waiting.
//
// The tables site_versions, site_later, shares, queues, tag_rules, site_resources and resource_capacities are written by this package only. Files
// are read by package file.
package site
