-- Which tasks a page of all shows: of the newest so many, in an order. looked: the oldest of these where there are more.
WITH newest AS (
    SELECT t.id,
        CASE @sort::text WHEN 'priority' THEN t.priority WHEN 'leased' THEN t.n_leased WHEN 'ready' THEN t.n_ready WHEN 'failed' THEN t.n_failed
            WHEN 'left' THEN t.n_jobs - t.n_finished - t.n_failed - t.n_cancelled WHEN 'jobs' THEN t.n_jobs ELSE t.id END AS key,
        (@state::text = '' OR t.state = @state::text)
            AND (@label::text = '' OR t.attributes ->> 'label' = @label::text)
            AND (@name::text = '' OR t.name LIKE @name::text)
            AND (@share::text = '' OR coalesce(t.own_share_id, t.share_id) IN (
                SELECT h.id FROM shares h WHERE h.path = @share::text OR starts_with(h.path, @share::text || '/'))) AS wanted
    FROM counted_tasks t
    WHERE t.id < @before::bigint
    ORDER BY t.id DESC LIMIT @most::int
), page AS (
    SELECT n.id, n.key FROM newest n
    WHERE n.wanted AND (n.key, n.id) < (@key::bigint, @id::bigint)
    ORDER BY n.key DESC, n.id DESC LIMIT @n::int
)
SELECT (SELECT array_agg(p.id ORDER BY p.key DESC, p.id DESC) FROM page p) AS ids,
    (SELECT array_agg(p.key ORDER BY p.key DESC, p.id DESC) FROM page p) AS keys,
    (SELECT CASE WHEN count(*) = @most::int THEN min(id) END FROM newest) AS looked;
