-- Notes how many jobs start together by each claim, and how many of them this transaction makes.
INSERT INTO claim_gangs AS g (claim_id, members, made)
SELECT n.claim_id, n.members, n.made
FROM unnest(@claims::bigint[], @members::int[], @mades::int[]) AS n (claim_id, members, made)
ORDER BY n.claim_id
ON CONFLICT (claim_id) DO UPDATE SET made = g.made + excluded.made, members = greatest(g.members, excluded.members);
