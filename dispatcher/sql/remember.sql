-- Remembers what pulls that named a request id are given. An id that is known already fails the transaction, and
-- lease.sql sorts it out.
INSERT INTO pulls (key, body_hash, job_ids, nonces)
SELECT a.key, a.hash, (@jobs::bigint[])[a.low:a.high], (@nonces::bigint[])[a.low:a.high]
FROM unnest(@keys::uuid[], @hashes::bytea[], @lows::int[], @highs::int[]) AS a (key, hash, low, high);
