-- Appends a batch where the one before it is there, and returns its time; else nothing. A predecessor that this statement does not see
-- is none. A rival in flight for the same seq is waited for. What a planner does not know stands in a SELECT: it would plan each append anew,
-- for the one partition that it is about, which takes longer than the append.
WITH before AS (
    SELECT b.at FROM batches b WHERE b.seq = (SELECT @seq::bigint - 1) AND b.id = @after::uuid
    UNION ALL
    SELECT '-infinity' WHERE @seq::bigint = 1
)
INSERT INTO batches (seq, id, after, at, by, kinds,
    granted_jobs, granted_attempts, granted_nonces, granted_tasks, granted_shares, granted_shapes, granted_places,
    granted_queues, granted_units, granted_pilots, granted_nodes, granted_requests,
    ended_jobs, ended_attempts, ended_outcomes, ended_next, ended_exit_codes, ended_cpu_milli, ended_memory_mb,
    started_jobs, started_attempts, started_ttls, rare)
SELECT @seq::bigint, @id::uuid, @after::uuid, greatest(clock_timestamp(), before.at), @by::bigint, @kinds::text,
    @granted_jobs::bigint[], @granted_attempts::int[], @granted_nonces::bigint[], @granted_tasks::bigint[], @granted_shares::int[],
    @granted_shapes::int[], @granted_places::bigint[], @granted_queues::int[], @granted_units::bigint[], @granted_pilots::text[],
    @granted_nodes::text[], @granted_requests::uuid[],
    @ended_jobs::bigint[], @ended_attempts::int[], @ended_outcomes::text, @ended_next::text, @ended_exit_codes::int[],
    @ended_cpu_milli::bigint[], @ended_memory_mb::bigint[],
    @started_jobs::bigint[], @started_attempts::int[], @started_ttls::int[], @rare::jsonb[]
FROM before
ON CONFLICT (seq) DO NOTHING
RETURNING at;
