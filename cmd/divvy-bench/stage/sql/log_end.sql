-- How far the log goes, and up to where the tables are made of it.
SELECT (SELECT coalesce(max(seq), 0) FROM batches) AS newest, (SELECT seq FROM folded) AS folded,
    (SELECT count(*) FROM outbox WHERE refused IS NULL) AS pending;
