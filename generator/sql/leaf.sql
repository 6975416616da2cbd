-- Whether a share is still a leaf of the tree in force.
SELECT EXISTS (SELECT FROM shares WHERE id = @share::int AND leaf AND removed_in IS NULL);
