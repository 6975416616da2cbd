-- Steps that are older than a time, by the clock of the batches; never the newest, which says where the others were.
DELETE FROM steps WHERE at < (SELECT f.at FROM folded f) - make_interval(secs => @kept_s::float8) AND seq < (SELECT max(s.seq) FROM steps s);
