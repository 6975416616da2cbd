-- Moves folded on, where nobody else has: the first statement of a step, which has its rivals wait.
UPDATE folded SET seq = @to_seq::bigint, id = @to_id::uuid, at = @to_at::timestamptz
WHERE seq = @from_seq::bigint AND id = @from_id::uuid;
