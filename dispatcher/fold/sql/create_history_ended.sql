-- For reports, within a day.
CREATE INDEX history_ended ON history USING brin (ended_at) WITH (pages_per_range = 32);
