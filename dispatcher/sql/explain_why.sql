-- How the leaves of two branches fared against each other in the last n recorded decisions. Every row has one at least,
-- so that n rows, newest first by the index, are enough; of these the ones that begin before the n-th are unpacked.
SELECT count(*) AS n, coalesce(sum(r.weight), 0)::bigint AS of_n, min(r.at) AS oldest,
    count(*) FILTER (WHERE r.won_a) AS na, coalesce(sum(r.weight) FILTER (WHERE r.won_a), 0)::bigint AS of_a,
    count(*) FILTER (WHERE r.won_b) AS nb, coalesce(sum(r.weight) FILTER (WHERE r.won_b), 0)::bigint AS of_b,
    count(*) FILTER (WHERE r.ab) AS n_ab, coalesce(sum(r.weight) FILTER (WHERE r.ab), 0)::bigint AS of_ab,
    count(*) FILTER (WHERE r.ba) AS n_ba, coalesce(sum(r.weight) FILTER (WHERE r.ba), 0)::bigint AS of_ba,
    (sum(r.weight * r.deficit::float8) FILTER (WHERE r.ab) / sum(r.weight) FILTER (WHERE r.ab))::float8 AS deficit_ab,
    (sum(r.weight * r.second::float8) FILTER (WHERE r.ab) / sum(r.weight) FILTER (WHERE r.ab))::float8 AS second_ab,
    (sum(r.weight * r.deficit::float8) FILTER (WHERE r.ba) / sum(r.weight) FILTER (WHERE r.ba))::float8 AS deficit_ba,
    (sum(r.weight * r.second::float8) FILTER (WHERE r.ba) / sum(r.weight) FILTER (WHERE r.ba))::float8 AS second_ba,
    max(r.at) FILTER (WHERE r.ab) AS last_ab, max(r.at) FILTER (WHERE r.ba) AS last_ba
FROM (
    SELECT d.written_at - u.ms_ago * interval '1 millisecond' AS at, u.weight, u.deficit, u.second,
        u.share_id = ANY (@a::int[]) AS won_a, u.share_id = ANY (@b::int[]) AS won_b,
        u.share_id = ANY (@a::int[]) AND u.second_id = ANY (@b::int[]) AS ab,
        u.share_id = ANY (@b::int[]) AND u.second_id = ANY (@a::int[]) AS ba
    FROM (
        SELECT *, sum(cardinality(ms_ago)) OVER (ORDER BY written_at DESC ROWS UNBOUNDED PRECEDING) - cardinality(ms_ago) AS later
        FROM (
            SELECT written_at, ms_ago, share_ids, runner_up_ids, deficits, runner_up_deficits, weights
            FROM decisions
            WHERE written_at >= now() - make_interval(secs => @from_s::float8)
            ORDER BY written_at DESC LIMIT @n::int
        ) newest
    ) d
    CROSS JOIN LATERAL unnest(d.ms_ago, d.share_ids, d.runner_up_ids, d.deficits, d.runner_up_deficits, d.weights)
        AS u (ms_ago, share_id, second_id, deficit, second, weight)
    WHERE d.later < @n::int
    ORDER BY d.written_at DESC, u.ms_ago
    LIMIT @n::int
) r;
