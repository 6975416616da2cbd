-- Jobs of a share up to a block have their places; NULL: all.
UPDATE placings SET after = @after::bigint WHERE share_id = @share::int;
