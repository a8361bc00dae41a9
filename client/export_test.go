package client

// PageSize makes c ask for n changes at once.
func PageSize(c *Client, n int) { c.pageSize = n }
