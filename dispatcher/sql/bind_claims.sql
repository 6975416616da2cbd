-- In front of leases of jobs with claims, in their transaction: one element a claim.
SELECT divvy_bind_claims(@ids::bigint[], @ns::int[], @queues::int[], @nodes::text[], @devices::text[], @shares::int[], @binds::boolean[]);
