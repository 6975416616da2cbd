-- The last attempt that was judged, locked, and until which time all ends are folded; nothing where another daemon has it.
SELECT j.at, j.job, f.at AS upto FROM judged j CROSS JOIN folded f FOR UPDATE OF j SKIP LOCKED;
