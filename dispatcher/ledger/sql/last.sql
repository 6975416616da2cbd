-- The newest batch.
SELECT seq, id FROM batches ORDER BY seq DESC LIMIT 1;
