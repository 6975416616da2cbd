-- Cores of jobs of these shapes.
SELECT key::int AS shape, (entry -> 'need' ->> 'cores')::bigint AS cores FROM latest WHERE kind = 'h' AND key = ANY (@ids::bigint[]);
