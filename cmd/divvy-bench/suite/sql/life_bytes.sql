-- Bytes of WAL that were ever written, of the disk of attempts that are over, and of a job with its part of a block.
SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS wal,
    (SELECT coalesce(sum(pg_total_relation_size(inhrelid)), 0) FROM pg_inherits
        WHERE inhparent IN ('history'::regclass, 'attempt_texts'::regclass))::float8 AS history,
    (SELECT coalesce(sum(pg_total_relation_size(inhrelid)), 0) FROM pg_inherits WHERE inhparent IN ('jobs'::regclass, 'job_blocks'::regclass))::float8
        / greatest(1, (SELECT count(*) FROM jobs)) AS job;
