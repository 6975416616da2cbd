-- Puts rows into the outbox, in their order.
INSERT INTO outbox (entries)
SELECT r.entries::jsonb FROM unnest(@rows::text[]) WITH ORDINALITY AS r (entries, i) ORDER BY r.i;
