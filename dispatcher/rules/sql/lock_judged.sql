-- The last attempt that was judged, locked; nothing where another daemon has it.
SELECT at, job FROM judged FOR UPDATE SKIP LOCKED;
