-- Notes the shares whose jobs have places by another aging than their plan has now.
INSERT INTO placings AS p (share_id, aging, after)
SELECT s.id, s.plan->'aging', 0 FROM shares s LEFT JOIN placings o ON o.share_id = s.id
WHERE s.plan->'aging' IS DISTINCT FROM o.aging
ON CONFLICT (share_id) DO UPDATE SET aging = excluded.aging, after = 0;
