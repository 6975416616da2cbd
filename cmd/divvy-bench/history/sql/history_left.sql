-- What is left of the generated history.
SELECT (SELECT count(*) FROM jobs WHERE id BETWEEN @first::bigint AND @last::bigint)
    + (SELECT count(*) FROM history WHERE job BETWEEN @first::bigint AND @last::bigint);
