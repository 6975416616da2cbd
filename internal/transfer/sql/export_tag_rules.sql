-- The tagging rules of every version.
SELECT row_to_json(r)::text FROM (
    SELECT 'tag_rule' AS kind, version, position, match, share
    FROM tag_rules
    ORDER BY version, position
) r;
