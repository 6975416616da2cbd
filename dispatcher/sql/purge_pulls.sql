-- Request ids are remembered for ten minutes.
DELETE FROM pulls WHERE at < now() - interval '10 minutes';
