-- How the attempts ended, and which are not over.
SELECT CASE outcome WHEN 'f' THEN 'finished' WHEN 'x' THEN 'failed' WHEN 'l' THEN 'lost' WHEN 'c' THEN 'cancelled' ELSE 'returned' END AS outcome,
    count(*) AS n
FROM history GROUP BY outcome;
