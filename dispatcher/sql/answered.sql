-- Which of these pulls were answered within ten minutes.
SELECT p.key FROM pulls p WHERE p.key = ANY (@keys::uuid[]) AND p.at > now() - interval '10 minutes';
