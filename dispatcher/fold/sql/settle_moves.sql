-- What no lease needs any more.
DELETE FROM moves WHERE nth = ANY (@ids::bigint[]);
