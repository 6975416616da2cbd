-- Steps that are older than a time, by the clock of the batches, at most so many; never the newest, which says where the others were.
DELETE FROM steps WHERE seq = ANY (ARRAY(
    SELECT s.seq FROM steps s
    WHERE s.at < (SELECT f.at FROM folded f) - make_interval(secs => @kept_s::float8) AND s.seq < (SELECT max(n.seq) FROM steps n)
    ORDER BY s.seq LIMIT @most::int));
