-- Which tasks a page of all shows: of the newest so many, in an order. looked: the oldest of these where there are more.
WITH newest AS (
    SELECT t.id, t.state, t.user_name, t.name, t.attributes, coalesce(t.own_share_id, t.share_id) AS share_id, t.ended_at,
        CASE @sort::text WHEN 'priority' THEN t.priority WHEN 'running' THEN t.n_leased WHEN 'ready' THEN t.n_ready WHEN 'failed' THEN t.n_failed
            WHEN 'left' THEN t.n_jobs - t.n_finished - t.n_failed - t.n_cancelled WHEN 'jobs' THEN t.n_jobs ELSE t.id END AS key
    FROM tasks t
    WHERE t.id < @before::bigint
    ORDER BY t.id DESC LIMIT @most::int
), page AS (
    SELECT s.id, s.key FROM newest s
    WHERE (s.key, s.id) < (@key::bigint, @id::bigint)
        AND (@state::text = '' OR s.state = @state::text)
        AND (@label::text = '' OR s.attributes ->> 'label' = @label::text)
        AND (@name::text = '' OR s.name LIKE @name::text)
        AND (@share::text = '' OR s.share_id IN (SELECT h.id FROM shares h WHERE h.path = @share::text OR starts_with(h.path, @share::text || '/')))
    ORDER BY s.key DESC, s.id DESC LIMIT @n::int
)
SELECT (SELECT array_agg(p.id ORDER BY p.key DESC, p.id DESC) FROM page p) AS ids,
    (SELECT array_agg(p.key ORDER BY p.key DESC, p.id DESC) FROM page p) AS keys,
    (SELECT CASE WHEN count(*) = @most::int THEN min(id) END FROM newest) AS looked;
