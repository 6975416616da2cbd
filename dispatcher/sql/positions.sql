-- Every lane, and up to where the checkpoint has it.
SELECT a.daemon_id, a.lane, coalesce(c.seq, 0) AS seq FROM ledger_lanes a LEFT JOIN counter_lanes c USING (daemon_id, lane);
