-- The newest entries of kinds without a table, for a start; shapes first.
SELECT kind, key, name, entry::text AS entry FROM latest ORDER BY kind <> 'h', kind, key, name;
