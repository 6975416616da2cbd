-- How many jobs are to be made, after those that were made or came on top. Where there is no row there were none.
WITH given AS (
    SELECT * FROM unnest(@share::int[], @shape::int[], @jobs::bigint[], @least::bigint[]) AS g (share, shape, jobs, least)
), changed AS (
    UPDATE expected x SET jobs = greatest(g.least, x.jobs + g.jobs) FROM given g WHERE x.share = g.share AND x.shape = g.shape
    RETURNING x.share, x.shape
)
INSERT INTO expected (share, shape, jobs)
SELECT g.share, g.shape, greatest(g.least, g.jobs)
FROM given g LEFT JOIN changed c ON c.share = g.share AND c.shape = g.shape
WHERE c.share IS NULL AND greatest(g.least, g.jobs) > 0;
