-- Chunks that have more pieces than before.
INSERT INTO need_pieces (task_id, place, chunk, bits)
SELECT @task::bigint, @place::int, c.chunk, c.bits FROM unnest(@chunks::bigint[], @bits::bytea[]) AS c (chunk, bits)
ON CONFLICT (task_id, place, chunk) DO UPDATE SET bits = excluded.bits;
