-- The ledger written narrowly: claims are most of its rows, and their moves differ in task, share, shape, queue and
-- units only.

-- +goose Up
COMMENT ON TABLE ledger IS 'Moves as parallel arrays: ns jobs of task went from state before to after. An array that is shorter than task_ids holds one value for all moves. States by letter: - none, w waiting, r ready, l leased, f finished, x failed, c cancelled. queue_ids, units: of the lease, else 0. places, low_ids, high_ids: where jobs that became ready stand.';
CREATE OR REPLACE VIEW ledger_tail_moves AS
    SELECT t.daemon_id, t.lane, t.seq, m.task_id, m.share_id, m.shape_id, m.queue_id,
        coalesce(m.before, t.befores[1]) AS before, coalesce(m.after, t.afters[1]) AS after, coalesce(m.n, t.ns[1]) AS n, m.units
    FROM ledger_tail t
    CROSS JOIN LATERAL unnest(t.task_ids, t.share_ids, t.shape_ids, t.queue_ids, t.befores, t.afters, t.ns, t.units)
        AS m (task_id, share_id, shape_id, queue_id, before, after, n, units);

-- +goose Down
CREATE OR REPLACE VIEW ledger_tail_moves AS
    SELECT t.daemon_id, t.lane, t.seq, m.task_id, m.share_id, m.shape_id, m.queue_id, m.before, m.after, m.n, m.units
    FROM ledger_tail t
    CROSS JOIN LATERAL unnest(t.task_ids, t.share_ids, t.shape_ids, t.queue_ids, t.befores, t.afters, t.ns, t.units)
        AS m (task_id, share_id, shape_id, queue_id, before, after, n, units);
