-- So many seconds ago, by the one clock that counts.
SELECT now() - make_interval(secs => @ago_s::float8);
