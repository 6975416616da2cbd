package next

// With is for tests.
var With = with
