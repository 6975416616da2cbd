-- Whether a task needs another one that it knows not all of yet.
SELECT EXISTS (SELECT FROM task_needs WHERE state = 'open');
