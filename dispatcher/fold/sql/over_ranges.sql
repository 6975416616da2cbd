-- All jobs that were over without a lease, to be compared.
SELECT low, high, task, nth, at, state FROM over_ranges;
