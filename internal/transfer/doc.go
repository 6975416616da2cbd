// Package transfer takes a site along from one database to another: its versions with all shares and queues, tokens, and the history
// of usage. It is how a database that a release up to 0.10 made is followed by one of today, and a copy of these things that people
// can read.
//
// A file has one JSON value a line. The first is the header, which says the format and where the file is from; each line after it is a
// row of a table, with the kind of row and all of its columns; the last is the end, which says how many there were, so that a file
// that was cut off is not taken for a whole one. Lines are in an order in which they can be stored.
//
//		{"kind":"divvy export","format":1,"release":"v0.10.0","schema":53,"old":true,"written_at":"2026-11-25T04:00:00Z"}
//		{"kind":"site_version","version":1,"applied_at":"2026-11-20T09:00:00+00:00","applied_by":"ann",…}
//		{"kind":"usage_day","day":"2026-11-20","share_id":3,"queue_id":1,"user_name":"ann","slot_seconds":7200.000000,…}
//		{"kind":"sequence","name":"jobs_id_seq","last":4096}
//		{"kind":"end","records":812}
//
//	 1. Export reads one snapshot and changes nothing. It reads databases of 0.9, of 0.10 and of this release. Usage is complete: what is
//	    not in the roll-ups yet is added, as the views of schema report do. It counts to the millisecond once it is in a database of today.
//	 2. Import is one transaction: all of a file, or nothing. It takes a database that was just made and has no site, and refuses any
//	    other, and what is not as Export writes it, with the line and the reason.
//	 3. Shares and queues keep their ids, because history refers to them. No id of a job, task, claim or daemon that the old database
//	    gave is given again: pilots may still name one.
//
// Tasks, jobs, attempts, decisions and the audit stay behind, and so does usage by task.
package transfer
