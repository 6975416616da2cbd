-- Which tasks a page shows that begins with those that are not over, each half the newest first; of each half at most so many are
-- looked at, and none of the second where the first fills the page. live_looked, over_looked: the oldest of these where there are more.
WITH live AS MATERIALIZED (
    SELECT t.id, (cardinality(@states::text[]) = 0 OR t.state = ANY (@states::text[]))
            AND (@label::text = '' OR t.attributes ->> 'label' = @label::text)
            AND (@share::text = '' OR coalesce(t.own_share_id, t.share_id) IN (
                SELECT h.id FROM shares h WHERE h.path = @share::text OR starts_with(h.path, @share::text || '/'))) AS wanted
    FROM tasks t
    WHERE t.ended_at IS NULL AND t.id < @live::bigint
    ORDER BY t.id DESC LIMIT @most::int
), past AS MATERIALIZED (
    SELECT t.id, (cardinality(@states::text[]) = 0 OR t.state = ANY (@states::text[]))
            AND (@label::text = '' OR t.attributes ->> 'label' = @label::text)
            AND (@share::text = '' OR coalesce(t.own_share_id, t.share_id) IN (
                SELECT h.id FROM shares h WHERE h.path = @share::text OR starts_with(h.path, @share::text || '/'))) AS wanted
    FROM tasks t
    WHERE t.ended_at IS NOT NULL AND t.id < @over::bigint
        AND (SELECT count(*) < @most::int AND count(*) FILTER (WHERE l.wanted) < @n::int FROM live l)
    ORDER BY t.id DESC LIMIT @most::int
)
SELECT ARRAY(SELECT l.id FROM live l WHERE l.wanted ORDER BY l.id DESC LIMIT @n::int) AS live,
    ARRAY(SELECT p.id FROM past p WHERE p.wanted ORDER BY p.id DESC LIMIT @n::int) AS over,
    (SELECT CASE WHEN count(*) = @most::int THEN min(l.id) END FROM live l) AS live_looked,
    (SELECT CASE WHEN count(*) = @most::int THEN min(p.id) END FROM past p) AS over_looked;
