-- The number that an attempt took last. Who takes one has a lock of the table by then.
UPDATE usage_state SET upto = greatest(upto, (SELECT CASE WHEN n.is_called THEN n.last_value ELSE 0 END FROM attempts_nth n))
WHERE done = upto
RETURNING upto;
