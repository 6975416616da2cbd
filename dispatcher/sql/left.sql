-- Whether the outbox has rows up to one that the log does not have.
SELECT EXISTS (SELECT FROM outbox WHERE refused IS NULL AND id <= @upto::bigint)
