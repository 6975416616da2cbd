// Package ledger keeps the log of batches: append-if-next, read, follow and retain over one PostgreSQL table. Package ledgertest has the same
// in memory, for tests.
//
//	Append(b) ──▶ row b.Seq, if row b.Seq-1 has the id b.After     Extend: partitions for the rows to come
//	Read(seq) ──▶ the rows after seq, in order                     Retain: drops partitions whose rows are old and folded
//
// A daemon follows the log by Read with the seq of the last batch that it applied, again and again.
//
// # Invariants
//
//  1. The rows are one chain: seq 1, 2, 3, …, and the After of each is the ID of the row before it. The primary key is the
//     whole fence: of all appends of a seq at most one is written, whoever sends them, whenever they arrive.
//  2. A reader that sees a row sees every row before it that is kept. An append whose predecessor is not committed yet is
//     refused with ErrGap; it never leaves a hole, and an append that races one in flight waits for it.
//  3. At is the database's clock, and never falls along the chain.
//  4. A row never changes. Rows go only by partitions, oldest first; the newest row never goes.
//  5. Read returns what was appended, entry by entry, in the order of the batch, except Adopted.Site: the row has only the version's number,
//     Site is nil, and the caller looks it up before it applies the entry. A row with a kind or field that this version does not know is an
//     error that names its seq and kind; Read never leaves anything out.
//  6. The error of Append says what is known. ErrTaken and ErrGap: this call wrote nothing, and a surrounding transaction goes on. ErrDoubt:
//     the outcome is not known yet. Any other error: nothing was written, and a surrounding transaction has failed.
//  7. What is written beside a batch (AppendWith) is written with it or not at all: rows leave the outbox, texts of
//     attempts come. If a row is no longer in the outbox the append fails with ErrGone, so the entries of a row are
//     in the log exactly once.
//
// # Doubt
//
// After ErrDoubt the caller appends the very same batch again until the answer is another one. No error: it is written now. ErrTaken: Read
// from the seq before it shows its ID (the first call was committed) or another ID (another writer was faster). A Read that finds nothing
// does not end the doubt: the first append may still be on its way to its commit.
//
// If the wait of a commit for a synchronous standby was broken off, the commit is visible though the standby may lack
// it. So ErrTaken comes behind a commit of its own: the standby has what is visible then.
//
// Inside of a transaction (New with a pgx.Tx) the doubt is that of the caller's commit. A second append in flight is safe on the
// same connection only, where it runs after the first; on another one it gets ErrGap until the first is committed.
//
// A failover without a synchronous standby may lose rows at the end of the chain. A daemon that has applied them gets ErrGap, or
// ErrTaken once others have gone on; either way the After of the next row is not the ID that it knows, and it reads everything anew.
//
// # The table
//
// PostgreSQL demands the partition key in the primary key, so partitions are ranges of seq, not of time. A row has a batch: the
// fields of grants, ends and starts as arrays, a column a field, whose length is one where all values are equal; other kinds as
// jsonb; kinds has a letter an entry, in their order. A row costs PostgreSQL some 40 µs, a grant in it 0.9 µs more, an end 0.3 µs
// (BenchmarkAppend): one binary value could save half of the latter two, and nobody could read it by SQL.
//
// report.ledger shows the log to people, a row an entry, without the secrets of leases. Bounds on its seq read few partitions; for
// bounds of time report.ledger_seq returns the first seq since then.
package ledger
