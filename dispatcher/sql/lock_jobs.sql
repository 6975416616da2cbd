-- Locks jobs in the order of their ids. What is done next is a statement of its own: it sees the leases of grants that
-- were waited for.
SELECT id FROM jobs WHERE id = ANY (@ids::bigint[]) ORDER BY id FOR UPDATE;
