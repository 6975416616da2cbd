-- The attempts after which jobs waited, in the order in which they are judged.
CREATE INDEX history_waits ON history (ended_at, job) WHERE state = 'w';
