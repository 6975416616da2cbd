-- One at a time sets target slots; reads go on beside it.
LOCK TABLE target_slots IN SHARE ROW EXCLUSIVE MODE;
