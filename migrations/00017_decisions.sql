-- More in the record of a decision: which pull and attempt it was, the deficits of the winner level by level, and who was
-- skipped before it. One writer: dispatcher.

-- +goose Up
-- A daemon of the version before leaves the new columns empty.
ALTER TABLE decisions
    ADD COLUMN pull           bigint NOT NULL DEFAULT 0,
    ADD COLUMN pulls          int[]  NOT NULL DEFAULT '{}',
    ADD COLUMN attempts       int[]  NOT NULL DEFAULT '{}',
    ADD COLUMN level_deficits real[] NOT NULL DEFAULT '{}',
    ADD COLUMN depths         int[]  NOT NULL DEFAULT '{}',
    ADD COLUMN skipped_ids    int[]  NOT NULL DEFAULT '{}',
    ADD COLUMN skipped_words  text   NOT NULL DEFAULT '',
    ADD COLUMN skips          int[]  NOT NULL DEFAULT '{}';
COMMENT ON TABLE decisions IS 'Records of committed claims, ms_ago before written_at. lanes, seqs: the ledger row of the claim''s transaction. runner_up_ids: 0 = nobody else had a job for the slot. deficits in units, rounds (R) and units in thousandths. weights: the record stands for so many claims. version: of the site. turn + turns: which decision of the daemon it was. kinds: of the slot, as diaries has them. cores, mosts: what the slot offered, and how many jobs it still asked for. unfits, barreds: leaves with ready jobs that did not contend, since none fits the slot or a limit keeps them back. pull + pulls: number of the pull at the daemon. level_deficits: of the winner''s path, depths of them a record, from the top down. skipped_ids, skipped_words: the first leaves that stood before the winner, skips of them a record, and a letter why each did not contend: f none of its jobs fits, m a max, p the capacity of the pool, l lending, b borrowing. From kinds on, level_deficits and skipped_ids apart, an array that is shorter than job_ids holds one value for all.';

CREATE OR REPLACE VIEW report.decisions AS
    SELECT d.written_at - r.ms_ago * interval '1 ms' AS at,
        d.written_at,
        d.daemon_id,
        r.lane,
        r.seq,
        r.job_id,
        q.name AS queue,
        s.path AS share,
        r.deficit AS deficit_units,
        n.path AS runner_up,
        CASE WHEN r.runner_up_id <> 0 THEN r.runner_up_deficit END AS runner_up_deficit_units,
        r.candidates,
        (r.units / 1000.0)::numeric(20, 3) AS units,
        (r.round / 1000.0)::numeric(20, 3) AS round_units,
        r.weight,
        nullif(d.version, 0) AS version,
        nullif(d.turn + r.turn, 0) AS turn,
        coalesce(r.cores, d.cores[1]) AS slot_cores,
        coalesce(r.most, d.mosts[1]) AS slot_jobs,
        coalesce(r.unfit, d.unfits[1]) AS unfit,
        coalesce(r.barred, d.barreds[1]) AS barred,
        d.pull + coalesce(r.pull, d.pulls[1]) AS pull,
        coalesce(r.attempt, d.attempts[1]) AS attempt,
        d.level_deficits[r.level_end - coalesce(r.depth, d.depths[1]) + 1 : r.level_end] AS level_deficits_units,
        CASE WHEN r.skip_end IS NOT NULL THEN ARRAY(
            SELECT k.path FROM unnest(d.skipped_ids[r.skip_end - coalesce(r.skip, d.skips[1]) + 1 : r.skip_end]) WITH ORDINALITY AS i (id, nth)
            LEFT JOIN public.shares k ON k.id = i.id ORDER BY i.nth) END AS skipped,
        CASE WHEN r.skip_end IS NOT NULL THEN ARRAY(
            SELECT CASE i.word WHEN 'f' THEN 'unfit' WHEN 'm' THEN 'max' WHEN 'p' THEN 'pool' WHEN 'l' THEN 'lend' WHEN 'b' THEN 'borrow' END
            FROM string_to_table(substr(d.skipped_words, r.skip_end - coalesce(r.skip, d.skips[1]) + 1, coalesce(r.skip, d.skips[1])), NULL)
                WITH ORDINALITY AS i (word, nth) ORDER BY i.nth) END AS skipped_for
    FROM public.decisions d
    CROSS JOIN LATERAL (
        SELECT u.*, (sum(coalesce(u.depth, d.depths[1])) OVER so_far)::int AS level_end, (sum(coalesce(u.skip, d.skips[1])) OVER so_far)::int AS skip_end
        FROM unnest(d.ms_ago, d.lanes, d.seqs, d.job_ids, d.queue_ids, d.share_ids, d.deficits, d.runner_up_ids, d.runner_up_deficits,
                d.candidates, d.units, d.rounds, d.weights, d.turns, d.cores, d.mosts, d.unfits, d.barreds, d.pulls, d.attempts, d.depths, d.skips)
            WITH ORDINALITY AS u (ms_ago, lane, seq, job_id, queue_id, share_id, deficit, runner_up_id, runner_up_deficit,
                candidates, units, round, weight, turn, cores, most, unfit, barred, pull, attempt, depth, skip, nth)
        WINDOW so_far AS (ORDER BY u.nth)
    ) r
    LEFT JOIN public.queues q ON q.id = r.queue_id
    LEFT JOIN public.shares s ON s.id = r.share_id
    LEFT JOIN public.shares n ON n.id = r.runner_up_id;
COMMENT ON COLUMN report.decisions.pull IS 'Number of the pull at its daemon: what one pull was given has the same. NULL for records of older daemons, as in all columns from here on.';
COMMENT ON COLUMN report.decisions.attempt IS 'Attempt of the job.';
COMMENT ON COLUMN report.decisions.level_deficits_units IS 'Target minus held, before the grant, of the nodes on the path of the share that won, from the top level down to the share. Seven digits.';
COMMENT ON COLUMN report.decisions.skipped IS 'Paths of the first eight shares with ready jobs that would have got the slot before the winner, in this order.';
COMMENT ON COLUMN report.decisions.skipped_for IS 'Why each of skipped was skipped: unfit (none of its jobs fits the slot), max (of it or a share above it), pool (capacity), lend or borrow.';

-- +goose Down
DROP VIEW report.decisions;
CREATE VIEW report.decisions AS
    SELECT d.written_at - r.ms_ago * interval '1 ms' AS at,
        d.written_at,
        d.daemon_id,
        r.lane,
        r.seq,
        r.job_id,
        q.name AS queue,
        s.path AS share,
        r.deficit AS deficit_units,
        n.path AS runner_up,
        CASE WHEN r.runner_up_id <> 0 THEN r.runner_up_deficit END AS runner_up_deficit_units,
        r.candidates,
        (r.units / 1000.0)::numeric(20, 3) AS units,
        (r.round / 1000.0)::numeric(20, 3) AS round_units,
        r.weight,
        nullif(d.version, 0) AS version,
        nullif(d.turn + r.turn, 0) AS turn,
        coalesce(r.cores, d.cores[1]) AS slot_cores,
        coalesce(r.most, d.mosts[1]) AS slot_jobs,
        coalesce(r.unfit, d.unfits[1]) AS unfit,
        coalesce(r.barred, d.barreds[1]) AS barred
    FROM public.decisions d
    CROSS JOIN LATERAL unnest(d.ms_ago, d.lanes, d.seqs, d.job_ids, d.queue_ids, d.share_ids, d.deficits, d.runner_up_ids,
            d.runner_up_deficits, d.candidates, d.units, d.rounds, d.weights, d.turns, d.cores, d.mosts, d.unfits, d.barreds)
        AS r (ms_ago, lane, seq, job_id, queue_id, share_id, deficit, runner_up_id, runner_up_deficit, candidates, units, round, weight,
            turn, cores, most, unfit, barred)
    LEFT JOIN public.queues q ON q.id = r.queue_id
    LEFT JOIN public.shares s ON s.id = r.share_id
    LEFT JOIN public.shares n ON n.id = r.runner_up_id;
COMMENT ON COLUMN report.decisions.at IS 'When it was decided, to the millisecond.';
COMMENT ON COLUMN report.decisions.written_at IS 'When the record was written: a second or so after at.';
COMMENT ON COLUMN report.decisions.daemon_id IS 'Daemon that decided.';
COMMENT ON COLUMN report.decisions.lane IS 'Lane of the daemon''s ledger in which the claim is counted.';
COMMENT ON COLUMN report.decisions.seq IS 'Position in that lane: claims of one transaction have the same.';
COMMENT ON COLUMN report.decisions.job_id IS 'Job that was given.';
COMMENT ON COLUMN report.decisions.queue IS 'Queue of the slot that it was given to.';
COMMENT ON COLUMN report.decisions.share IS 'Path of the share that won, and pays.';
COMMENT ON COLUMN report.decisions.deficit_units IS 'Target minus held, before the grant, at the level where the paths of winner and runner-up part: of the winner''s side. Of the share itself when there is no runner-up. Seven digits.';
COMMENT ON COLUMN report.decisions.runner_up IS 'Path of the share that would have been picked without the winner; NULL when no other had a job for this slot.';
COMMENT ON COLUMN report.decisions.runner_up_deficit_units IS 'The same of the runner-up''s side; NULL when there is none.';
COMMENT ON COLUMN report.decisions.candidates IS 'Leaves that had a job for this slot which every hard limit admitted.';
COMMENT ON COLUMN report.decisions.units IS 'Units that the job is charged.';
COMMENT ON COLUMN report.decisions.round_units IS 'R that the targets were solved for: units held with those on offer, at most the capacity.';
COMMENT ON COLUMN report.decisions.weight IS 'Claims that this record stands for: 1 = all are recorded; more when a daemon made over a thousand claims a second.';
COMMENT ON VIEW report.decisions IS 'Why a job was given to whom, for as long as decisions are kept: one row a recorded claim. Restrict it by written_at: days are stored apart.';
COMMENT ON COLUMN report.decisions.version IS 'Version of the site that was in force at the daemon; NULL for records of older daemons, as in all columns from here on.';
COMMENT ON COLUMN report.decisions.turn IS 'Which decision of its daemon it was, claimed or not.';
COMMENT ON COLUMN report.decisions.slot_cores IS 'Cores that the slot had left to offer.';
COMMENT ON COLUMN report.decisions.slot_jobs IS 'Jobs that the pull asked for and did not have yet.';
COMMENT ON COLUMN report.decisions.unfit IS 'Leaves with ready jobs that were skipped since none of them fits the slot.';
COMMENT ON COLUMN report.decisions.barred IS 'Leaves with jobs for the slot that were skipped since a limit kept them back.';
COMMENT ON TABLE decisions IS 'Records of committed claims, ms_ago before written_at. lanes, seqs: the ledger row of the claim''s transaction. runner_up_ids: 0 = nobody else had a job for the slot. deficits in units, rounds (R) and units in thousandths. weights: the record stands for so many claims. version: of the site. turn + turns: which decision of the daemon it was. kinds: of the slot, as diaries has them. cores, mosts: what the slot offered, and how many jobs it still asked for. unfits, barreds: leaves with ready jobs that did not contend, since none fits the slot or a limit keeps them back. From kinds on, an array that is shorter than job_ids holds one value for all.';
ALTER TABLE decisions DROP COLUMN pull, DROP COLUMN pulls, DROP COLUMN attempts, DROP COLUMN level_deficits, DROP COLUMN depths,
    DROP COLUMN skipped_ids, DROP COLUMN skipped_words, DROP COLUMN skips;
