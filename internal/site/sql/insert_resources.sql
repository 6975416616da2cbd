-- The resources of the new version, in order.
INSERT INTO site_resources (version, position, name, capacity, per_queue, keyed, split_by, external_expires)
SELECT @version::bigint, r.position, r.name, r.capacity, r.per_queue, r.keyed, r.split_by, make_interval(secs => r.expires_s)
FROM unnest(@positions::int[], @names::text[], @capacities::bigint[], @per_queues::bool[], @keyeds::bool[], @splits::text[], @expires_s::float8[])
     AS r (position, name, capacity, per_queue, keyed, split_by, expires_s)
