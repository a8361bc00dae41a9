package client

// PageSize makes c request n changes at a time.
func PageSize(c *Client, n int) { c.pageSize = n }
