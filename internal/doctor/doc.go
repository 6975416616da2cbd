// Package doctor looks at a site's database as somebody would who was called at night, says what is wrong and what to do
// about it, and repairs what can be repaired while daemons run.
//
// Promises:
//
//  1. Examine changes nothing. Only what findings offer as their repair writes, when Report.Repair asks for it.
//  2. Without Deep a look is bounded whatever there is: by the number of lanes, shares and leases, never by that of jobs.
//     What reads more is left out, and said so (Report.LeftOut).
//  3. A check that fails is a finding and keeps no other one from being made.
//  4. A repair is safe on several daemons under load: it recounts by itself, behind the locks that keep it true, so that what
//     changed since the look does not matter.
//  5. A repair that changes something is in the audit, by its own transaction, with the name of its check.
//
// The doctor sees a database, not its daemons: their clocks it asks for over HTTP, all else is what they have written.
package doctor
