-- Takes the rows of a day out of the default partition, into a table that attach_day makes a partition.
SELECT divvy_move_day(@parent::text, @day::date);
