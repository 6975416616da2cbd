-- What shares remember that are no more.
DELETE FROM share_memory m USING shares s WHERE s.id = m.share_id AND s.removed_in IS NOT NULL;
