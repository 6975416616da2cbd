-- The database's clock, and how many units of a resource leases and claims have held for longer than settle, as of folded.
SELECT now(), (coalesce((
    SELECT sum((s.resources ->> @name::text)::bigint)
    FROM shapes s JOIN held h ON h.shape = s.id
    WHERE s.resources ? @name::text AND (@queue::int = 0 OR h.queue = @queue::int) AND h.granted_at < now() - make_interval(secs => @settle_s::float8)
), 0) + coalesce((
    SELECT sum((c.saved -> 'claim' -> 'Charge' -> 'Units' ->> @name::text)::bigint)
    FROM claims c
    WHERE c.ended_at IS NULL AND (@queue::int = 0 OR c.queue = @queue::int) AND c.bound_at < now() - make_interval(secs => @settle_s::float8)
), 0))::bigint;
