-- Up to where the log is folded.
SELECT seq, id, at FROM folded;
