// Package live passes on what running attempts write, from their pilots to the people who follow them. It keeps it in
// memory only: nothing of it reaches the ledger or the database.
//
//	pilot ──Exchange──▶ stream: the last MiB ──Read──▶ follower
//	      ◀── wanted: attempt, stream, from which byte on
//
// A pilot keeps one Exchange open that waits. While no attempt of it is followed it sends nothing, so a quiet attempt
// costs nothing. A Read makes its attempt followed: the pilot's Exchange is answered at once with the bytes that are
// wanted, and the pilot sends as they are written. An attempt stays followed for Limits.Followed after the last Read.
//
// A pilot has all that the attempt wrote in a file. So a daemon that has just started asks for what its followers lack,
// and nothing is sent that no follower waits for.
//
// # Invariants
//
//  1. A chunk is taken only if it answers what is wanted of its stream now (OutputChunk.Wanted): repeated, late and
//     foreign chunks change nothing. What a Read returns is what was written, from the offset that it says.
//  2. Bytes that are not there any more leave a gap, which the offset of the next piece shows. No other byte is left out.
//  3. A stream keeps at most Limits.Stream bytes, all together Limits.All; the attempts that were read longest ago go first.
//  4. The first chunk of an attempt must come with its lease while that runs. Later ones, after its end too, must have
//     the same lease.
//  5. An attempt that has ended keeps what is there for Limits.Keep.
package live
