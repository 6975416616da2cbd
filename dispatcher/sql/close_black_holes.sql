-- Queues that work again: so many attempts finished there in a row, or none failed for a window while some ran. And all of
-- them, where the site does not want to know.
DELETE FROM black_holes h
WHERE @off::boolean OR h.good >= @enough::int
    OR h.queue_id = ANY (@busy::int[]) AND h.bad_at < now() - make_interval(secs => @window_s::float8);
