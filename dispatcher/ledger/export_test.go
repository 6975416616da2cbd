package ledger

// Query has the statements, to look at their plans.
var Query = query
