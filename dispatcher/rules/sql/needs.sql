-- What shapes stand for.
SELECT l.key::int AS shape, l.entry -> 'need' AS need FROM latest l WHERE l.kind = 'h' AND l.key = ANY (@shape::bigint[]);
