-- Up to when nodes are rolled up.
SELECT at FROM rolled;
