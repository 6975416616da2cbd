-- Writes what stands beside a batch, where this transaction has just appended it. Rows of the outbox whose entries the batch has are
-- deleted with it, those that cannot follow it are marked, or all of this fails: each is in the log exactly once, whoever else believes to
-- have taken it.
WITH made AS (
    SELECT b.at FROM batches b WHERE b.seq = (SELECT @seq::bigint) AND b.id = @id::uuid AND b.xmin = pg_current_xact_id()::xid
), gone AS (
    DELETE FROM outbox o USING made
    WHERE cardinality(@rows::bigint[]) > 0 AND o.id = ANY ((SELECT @rows::bigint[])::bigint[]) AND o.refused IS NULL
    RETURNING o.id
), marked AS (
    UPDATE outbox o SET refused = r.why
    FROM made CROSS JOIN unnest((SELECT @refused::bigint[]), (SELECT @why::text[])) AS r (id, why)
    WHERE cardinality(@refused::bigint[]) > 0 AND o.id = r.id AND o.refused IS NULL
    RETURNING o.id
), told AS (
    INSERT INTO attempt_texts (job_id, attempt, ended_on, report, log, outputs, metadata, reason)
    SELECT t.job, t.attempt, (made.at AT TIME ZONE 'UTC')::date, t.report, nullif(t.log, ''), t.outputs, t.metadata, nullif(t.reason, '')
    FROM made CROSS JOIN unnest((SELECT @jobs::bigint[]), @attempts::int[], @reports::jsonb[], @logs::text[], @outputs::jsonb[],
        @metadata::jsonb[], @reasons::text[]) AS t (job, attempt, report, log, outputs, metadata, reason)
)
SELECT divvy_all_gone((SELECT count(*) FROM gone) + (SELECT count(*) FROM marked), cardinality(@rows::bigint[]) + cardinality(@refused::bigint[]))
FROM made;
