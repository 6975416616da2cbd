-- When claims were made and bound, as of folded.
SELECT c.id, c.made_at, c.bound_at FROM claims c WHERE c.id = ANY (@ids::bigint[]);
