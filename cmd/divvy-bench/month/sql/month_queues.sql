-- The queues, in their order.
SELECT id, name, core_power_milli FROM queues ORDER BY position;
