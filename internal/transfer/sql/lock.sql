-- Nobody applies a site or makes a token while a file is read.
LOCK TABLE site_versions, shares, queues, tokens IN SHARE ROW EXCLUSIVE MODE;
