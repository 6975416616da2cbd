-- Ids of jobs: taken by divvy_take_ids alone. No cache, so that they rise with time.
CREATE SEQUENCE job_ids AS bigint;
