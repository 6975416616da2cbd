-- The tagging rules of the new version, in order.
INSERT INTO tag_rules (version, position, match, share)
SELECT @version::bigint, r.position, r.match, r.share
FROM unnest(@positions::int[], @matches::jsonb[], @shares::text[]) AS r (position, match, share)
