-- The last tick, and the version of the site.
SELECT kind, key, name, entry::text AS entry FROM latest WHERE kind IN ('t', 'a');
