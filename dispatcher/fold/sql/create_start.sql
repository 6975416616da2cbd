-- Nothing is folded yet.
INSERT INTO folded (seq, id, at) VALUES (0, '00000000-0000-0000-0000-000000000000', 'epoch');
