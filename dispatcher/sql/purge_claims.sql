-- Claims that were released long ago.
DELETE FROM resource_claims WHERE state = 'released' AND ended_at < now() - make_interval(secs => @keep_s::float8);
