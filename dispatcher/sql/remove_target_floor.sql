-- Takes a floor back. No row: there was none.
DELETE FROM target_floors WHERE queue = @queue::text AND share_id = @share::int AND class = @class::text;
