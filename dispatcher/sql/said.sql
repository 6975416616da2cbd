-- The rows that this transaction has put into the outbox. They are among the newest, so the index finds them.
SELECT o.id FROM (SELECT id, xmin FROM outbox ORDER BY id DESC LIMIT 1000) o WHERE o.xmin = pg_current_xact_id()::xid ORDER BY o.id;
