-- Makes the table of move_day a partition, in the same transaction.
SELECT divvy_attach_day(@parent::text, @day::date);
