-- All shares of the new version as its file has them.
UPDATE shares AS s
SET parent_id = n.parent_id, name = n.name, path = n.path, position = n.position, leaf = n.leaf,
    weight = n.weight, tier = n.tier, plan = n.plan
FROM unnest(@ids::int[], @parent_ids::int[], @names::text[], @paths::text[], @positions::int[], @leaves::bool[],
            @weights::float8[], @tiers::int[], @plans::jsonb[])
     AS n (id, parent_id, name, path, position, leaf, weight, tier, plan)
WHERE s.id = n.id AND s.removed_in IS NULL
