-- Queues that were found to fail whatever they get. One that is known stays as it is.
INSERT INTO black_holes (queue_id, ends, fails)
SELECT * FROM unnest(@queues::int[], @ends::int[], @fails::int[])
ON CONFLICT (queue_id) DO NOTHING;
