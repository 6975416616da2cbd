-- Live tasks with a deadline, by what it looks like.
SELECT late_risk, count(*) FROM task_deadlines WHERE NOT over GROUP BY late_risk;
