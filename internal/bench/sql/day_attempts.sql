-- How the attempts ended, and which are not over.
SELECT outcome, count(*) AS n FROM attempts GROUP BY outcome;
