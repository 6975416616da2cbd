-- Up to which batch states of tasks were moved on.
SELECT seq FROM settled;
