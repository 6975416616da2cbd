-- The last commit that a replica has heard of; NULL: this is no replica, or it has not heard of any since it was started.
SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_xact_replay_timestamp() END;
