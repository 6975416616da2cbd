// Package doctor looks at a site's database as somebody would who was called at night, says what is wrong and what to do
// about it, and repairs what can be repaired while daemons run.
//
// Promises:
//
//  1. Examine changes nothing. Only what findings offer as their repair writes, when Report.Repair asks for it.
//  2. Without Deep a look is bounded whatever there is. What reads whole tables, or the whole log, is left out, and said so (Report.LeftOut).
//  3. A check that fails is a finding and keeps no other one from being made.
//  4. A repair is safe beside daemons under load, and does nothing that could be wrong: it makes partitions. Rows of tables that are not what
//     the log comes to are shown, not written: what wrote them is not known.
//  5. A repair is in the audit, with the name of its check.
//
// The doctor sees a database, not its daemons: their clocks it asks for over HTTP, all else is what they have written.
package doctor
