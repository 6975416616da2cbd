-- Nothing is rolled up yet.
INSERT INTO rolled (at) VALUES ('epoch');
