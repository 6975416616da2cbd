-- Orders that no lease needs any more.
DELETE FROM kills WHERE nth = ANY (@ids::bigint[]);
